module caldera

go 1.19
