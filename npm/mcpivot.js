#!/usr/bin/env node
// Starts the program for this machine, which is in a separate package, and stays out of its way: the program
// inherits stdin, stdout and stderr, gets our signals, and we exit as it does.
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
      fail(`there is no package for ${process.platform} on ${process.arch}, only ${known.join(', ')}; ` +
           'build mcpivot from source instead');
    fail(`the package ${name} is missing. npm leaves it out with --omit=optional or --no-optional; ` +
         'install mcpivot again without that option');
  }
}

const program = findProgram();
// The program watches our pid, so it exits when we do, even after SIGKILL.
const child = spawn(program, process.argv.slice(2), {
  stdio: 'inherit',
  env: { ...process.env, MCPIVOT_LAUNCHER: String(process.pid) },
});

child.on('error', (error) => {
  const missing = error.code === 'ENOENT' ? ' (mcpivot needs glibc; does this system have it?)' : '';
  fail(`${program} cannot be started: ${error.message}${missing}`);
});

const forwarded = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'];
for (const signal of forwarded) {
  // A key on a terminal has already reached both processes.
  const fromKeyboard = (signal === 'SIGINT' || signal === 'SIGQUIT') && tty.isatty(0);
  process.on(signal, fromKeyboard ? () => {} : () => child.kill(signal));
}

child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code);
  for (const name of forwarded) process.removeAllListeners(name);
  process.kill(process.pid, signal);
  // If the signal didn't end us, exit with the code that shells use.
  setImmediate(() => process.exit(128 + os.constants.signals[signal]));
});
