//! The program: one subcommand, one file.

mod bench;
mod devices;
mod embed;
mod generate;
mod inspect;
mod out;
mod perplexity;
mod run;
mod runner;
mod tokenizer;
mod values;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Runs neural networks on any Vulkan GPU
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Bench(bench::Arguments),
    Devices(devices::Arguments),
    Run(run::Arguments),
    Generate(generate::Arguments),
    Embed(embed::Arguments),
    Perplexity(perplexity::Arguments),
    Verify(verify::Arguments),
    Inspect(inspect::Arguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Bench(arguments) => bench::main(&arguments),
        Command::Devices(arguments) => devices::main(&arguments),
        Command::Run(arguments) => run::main(&arguments),
        Command::Generate(arguments) => generate::main(&arguments),
        Command::Embed(arguments) => embed::main(&arguments),
        Command::Perplexity(arguments) => perplexity::main(&arguments),
        Command::Verify(arguments) => verify::main(&arguments),
        Command::Inspect(arguments) => inspect::main(&arguments),
    };
    result.unwrap_or_else(|error| {
        eprintln!("caldera: {error}");
        ExitCode::from(2)
    })
}
