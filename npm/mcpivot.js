#!/usr/bin/env node
// Starts the program for this machine, which is in a package of its own, and stays out of its way: it has our
// stdin, stdout and stderr themselves, gets our signals, and its end is ours.
'use strict';

const { spawn } = require('node:child_process');
const os = require('node:os');
const tty = require('node:tty');

function fail(message) {
  process.stderr.write(`mcpivot: ${message}\n`);
  process.exit(1);
}

function findProgram() {
  const name = `@mcpivot/${process.platform}-${process.arch}`;
  try {
    return require.resolve(`${name}/bin/mcpivot`);
  } catch {
    const known = Object.keys(require('../package.json').optionalDependencies);
    if (!known.includes(name))
      fail(`there is no program for ${process.platform} on ${process.arch}, only ${known.join(', ')}; ` +
           'build it from its source instead');
    fail(`the package ${name} is missing. npm leaves it out with --omit=optional or --no-optional; ` +
         'install again without that');
  }
}

const program = findProgram();
// Told who we are, it ends when we end, even by SIGKILL.
const child = spawn(program, process.argv.slice(2), {
  stdio: 'inherit',
  env: { ...process.env, MCPIVOT_LAUNCHER: String(process.pid) },
});

child.on('error', (error) => {
  const missing = error.code === 'ENOENT' ? ' (does this system have glibc? It is needed.)' : '';
  fail(`${program} cannot be started: ${error.message}${missing}`);
});

const forwarded = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'];
for (const signal of forwarded) {
  // A key on a terminal has reached both of us already.
  const fromKeyboard = (signal === 'SIGINT' || signal === 'SIGQUIT') && tty.isatty(0);
  process.on(signal, fromKeyboard ? () => {} : () => child.kill(signal));
}

child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code);
  for (const name of forwarded) process.removeAllListeners(name);
  process.kill(process.pid, signal);
  // Should the signal not have ended us, say it as shells do.
  setImmediate(() => process.exit(128 + os.constants.signals[signal]));
});
