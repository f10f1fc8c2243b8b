//! The program: one subcommand, one file.

mod runner;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Runs neural networks on any Vulkan GPU.
#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Verify(verify::Arguments),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Verify(arguments) => verify::main(&arguments),
    };
    result.unwrap_or_else(|error| {
        eprintln!("caldera: {error}");
        ExitCode::from(2)
    })
}
