//! Handles, bound outputs and feeds of an executable.

use std::sync::Arc;

use super::buffer::Buffer;
use super::executable::{Executable, Feed, Machine};
use crate::plan::{Port, Root};
use crate::{Result, bail, ensure, error};

impl Executable {
    /// Makes an input persistent: it lives in `buffer` from now on. Another buffer can be bound at any time between runs.
    pub fn bind_handle(&mut self, input: usize, buffer: &Arc<Buffer>) -> Result<()> {
        self.idle()?;
        self.check_buffer("input", &self.program.inputs[input], buffer)?;
        self.replace_handle(input, Some(buffer.clone()))
    }

    /// Puts a handle in the place of another, or takes it away; after an error the old one is there.
    fn replace_handle(&mut self, input: usize, buffer: Option<Arc<Buffer>>) -> Result<()> {
        let before = std::mem::replace(&mut self.handles[input], buffer.clone());
        let bound = match &mut self.machine {
            Machine::Vulkan(m) => m.bind_input(input, buffer),
            Machine::Cpu(_) => Ok(()),
        };
        let done = bound.and_then(|()| self.place_outputs());
        // A value set for the next run went with the input's own memory.
        self.set[input] &= done.is_err();
        if done.is_err() {
            self.placed = false;
            self.handles[input] = before.clone();
            if let Machine::Vulkan(m) = &mut self.machine {
                m.bind_input(input, before)?;
            }
        }
        done
    }

    /// Makes an input persistent in a buffer of its own with these contents.
    pub fn bind_handle_data(&mut self, input: usize, data: &[u8]) -> Result<()> {
        self.idle()?;
        let port = &self.program.inputs[input];
        let needs = port.ty.bytes();
        ensure!(
            data.len() == needs,
            InvalidArgument,
            "handle \"{}\": got {} bytes, {} needs {needs}",
            port.name,
            data.len(),
            port.ty
        );
        let buffer = Buffer::new(&self.device, port.ty.clone())?;
        buffer.write(0, data)?;
        self.bind_handle(input, &buffer)
    }

    /// Takes the value of an input for the next run; a second one replaces it.
    pub fn set_input(&mut self, input: usize, bytes: &[u8]) -> Result<()> {
        self.idle()?;
        self.given[input] = false;
        self.give(input, bytes)?;
        self.set[input] = true;
        Ok(())
    }

    /// Asks for an output of the next run.
    pub fn want_ahead(&mut self, output: usize) -> Result<()> {
        self.idle()?;
        if !self.ahead.contains(&output) {
            self.ahead.push(output);
        }
        Ok(())
    }

    /// Takes back what was set and wanted for the next run.
    pub fn clear_ahead(&mut self) -> Result<()> {
        self.idle()?;
        self.set.fill(false);
        self.ahead.clear();
        Ok(())
    }

    pub fn handle(&self, input: usize) -> Option<&Arc<Buffer>> {
        self.handles[input].as_ref()
    }

    /// Makes the input one that is given at each run again.
    pub fn unbind_handle(&mut self, input: usize) -> Result<()> {
        self.idle()?;
        let name = &self.program.inputs[input].name;
        ensure!(self.handles[input].is_some(), InvalidArgument, "input \"{name}\" has no handle");
        if let Some(feed) = self.feeds.iter().chain(&self.row_feeds).find(|f| f.input == input) {
            bail!(
                InvalidArgument,
                "handle \"{name}\" is fed by output \"{}\": end that first",
                self.program.outputs[feed.output].name
            );
        }
        self.replace_handle(input, None)
    }

    /// Puts an output into a buffer at each run.
    pub fn bind_output(&mut self, output: usize, buffer: Option<&Arc<Buffer>>) -> Result<()> {
        self.idle()?;
        if let Some(buffer) = buffer {
            self.check_buffer("output", &self.program.outputs[output], buffer)?;
        }
        let before = std::mem::replace(&mut self.bound_outputs[output], buffer.cloned());
        let done = self.place_outputs();
        if done.is_err() {
            self.bound_outputs[output] = before;
        }
        done
    }

    fn check_buffer(&self, what: &str, port: &Port, buffer: &Buffer) -> Result<()> {
        ensure!(
            Arc::ptr_eq(&buffer.device, &self.device),
            InvalidArgument,
            "{what} \"{}\": the buffer is of another device",
            port.name
        );
        let (have, want) = (buffer.ty(), &port.ty);
        let fits = have.element == want.element && have.bytes() == want.bytes();
        ensure!(fits, InvalidArgument, "{what} \"{}\": the buffer is {have}, it is {want}", port.name);
        Ok(())
    }

    /// Decides which outputs are written straight into their buffers, and which are copied there after the run: those that are
    /// views of something else, and those whose buffer is also read as an input.
    pub(super) fn place_outputs(&mut self) -> Result<()> {
        self.check_writers()?;
        let Machine::Vulkan(machine) = &mut self.machine else { return Ok(()) };
        self.placed = false;
        let mut copies = Vec::new();
        for (j, port) in self.program.outputs.iter().enumerate() {
            let buffer = self.bound_outputs[j].clone();
            let shared = buffer.as_ref().is_some_and(|b| self.handles.iter().flatten().any(|h| Arc::ptr_eq(h, b)));
            let direct = port.own && port.location.root == Root::Output(j as u32) && !shared;
            machine.bind_output(j, buffer.clone().filter(|_| direct))?;
            copies.extend(buffer.filter(|_| !direct).map(|buffer| (j, buffer, false)));
        }
        for feed in &self.feeds {
            let in_place = self.program.outputs[feed.output].location.root == Root::Input(feed.input as u32);
            copies.extend(self.handles[feed.input].clone().filter(|_| !in_place).map(|buffer| (feed.output, buffer, true)));
        }
        machine.set_copies(copies)?;
        self.copies_stale = true;
        self.placed = true;
        Ok(())
    }

    /// Refuses a buffer that two outputs would be written to.
    fn check_writers(&self) -> Result<()> {
        let bound = self.bound_outputs.iter().enumerate().filter_map(|(j, b)| Some((j, b.as_ref()?)));
        let fed = self.feeds.iter().filter_map(|f| Some((f.output, self.handles[f.input].as_ref()?)));
        let writers: Vec<(usize, &Arc<Buffer>)> = bound.chain(fed).collect();
        for (k, (one, buffer)) in writers.iter().enumerate() {
            let other = writers[..k].iter().find(|(other, b)| other != one && Arc::ptr_eq(b, buffer));
            if let Some((other, _)) = other {
                let name = |j: usize| &self.program.outputs[j].name;
                bail!(InvalidArgument, "outputs \"{}\" and \"{}\" would be written to one buffer", name(*other), name(*one));
            }
        }
        Ok(())
    }

    fn check_feed(&self, input: usize, output: usize) -> Result<()> {
        let (i, o) = (&self.program.inputs[input], &self.program.outputs[output]);
        ensure!(self.handles[input].is_some(), InvalidArgument, "input \"{}\" has no handle: bind one first", i.name);
        let same = i.ty.element == o.ty.element;
        ensure!(same, InvalidArgument, "handle \"{}\" is {}, output \"{}\" is {}", i.name, i.ty, o.name, o.ty);
        Ok(())
    }

    /// After every run this output becomes the handle's next value.
    pub fn set_handle_feed(&mut self, input: usize, output: usize) -> Result<()> {
        self.idle()?;
        self.check_feed(input, output)?;
        let (i, o) = (&self.program.inputs[input], &self.program.outputs[output]);
        let fits = i.ty.bytes() <= o.ty.bytes();
        ensure!(fits, InvalidArgument, "handle \"{}\" is {}, output \"{}\" is only {}", i.name, i.ty, o.name, o.ty);
        ensure!(
            self.feeds.iter().all(|f| f.input != input),
            InvalidArgument,
            "handle \"{}\" is already fed by \"{}\"",
            i.name,
            self.program.outputs[self.feeds.iter().find(|f| f.input == input).map_or(0, |f| f.output)].name
        );
        if let Root::Input(other) = o.location.root {
            let itself = other as usize == input;
            ensure!(itself, Unsupported, "output \"{}\" is input \"{}\" itself", o.name, self.program.inputs[other as usize].name);
        }
        self.feeds.push(Feed { input, output });
        let done = self.place_outputs();
        if done.is_err() {
            self.feeds.pop();
        }
        done
    }

    /// No output becomes the handle's next value any more.
    pub fn clear_handle_feed(&mut self, input: usize) -> Result<()> {
        self.idle()?;
        self.feeds.retain(|f| f.input != input);
        self.place_outputs()
    }

    /// `feed_row` writes rows of no output to the handle any more.
    pub fn clear_row_feeds(&mut self, input: usize) -> Result<()> {
        self.idle()?;
        self.row_feeds.retain(|f| f.input != input);
        Ok(())
    }

    /// Rows of this output may be written to the handle by `feed_row`.
    pub fn register_row_feed(&mut self, input: usize, output: usize) -> Result<()> {
        self.idle()?;
        self.check_feed(input, output)?;
        self.row_feeds.push(Feed { input, output });
        Ok(())
    }

    /// Row `from` of the output of every row feed, `row_elements` long, is written to row `to` of its handle.
    pub fn feed_row(&mut self, from: usize, to: usize, row_elements: usize) -> Result<()> {
        self.idle()?;
        ensure!(!self.row_feeds.is_empty(), InvalidArgument, "no row feed is registered");
        ensure!(self.has_run, InvalidArgument, "there was no run yet: no row to feed");
        ensure!(row_elements > 0, InvalidArgument, "a row of 0 elements");
        for feed in &self.row_feeds {
            let ports = [(from, &self.program.outputs[feed.output], "output"), (to, &self.program.inputs[feed.input], "handle")];
            for (row, port, what) in ports {
                let end = row.checked_add(1).and_then(|r| r.checked_mul(row_elements));
                let inside = end.is_some_and(|end| end <= port.ty.elements());
                ensure!(
                    inside,
                    InvalidArgument,
                    "row {row} of {row_elements} elements is outside {what} \"{}\" {}",
                    port.name,
                    port.ty
                );
            }
        }
        for feed in &self.row_feeds {
            let element = self.program.outputs[feed.output].ty.element.bytes();
            let (source, target, bytes) = (from * row_elements * element, to * row_elements * element, row_elements * element);
            let Some(buffer) = &self.handles[feed.input] else { bail!(InvalidArgument, "a fed handle was unbound") };
            match &mut self.machine {
                Machine::Vulkan(m) => m.copy_now(feed.output, source, buffer, target, bytes)?,
                Machine::Cpu(m) => {
                    let output = m.outputs[feed.output].as_ref().ok_or_else(|| error!(Internal, "an output is missing"))?;
                    let row = output.bytes()[source..source + bytes].to_vec();
                    buffer.write(target, &row)?;
                }
            }
        }
        Ok(())
    }
}
