#!/usr/bin/env -S node --max-semi-space-size=8
// Starts sluice: the sources in a clone, what was compiled of them in a package. CommonJS that any Node can read, so that
// an old one gets a sentence instead of a stack trace.
'use strict';

const { existsSync } = require('node:fs');
const { join } = require('node:path');
const { pathToFileURL } = require('node:url');

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(
    `sluice needs Node 22.19 or newer, this is ${process.versions.node}: https://nodejs.org/download\n`,
  );
  process.exitCode = 2;
} else {
  const root = join(__dirname, '..');
  const sources = join(root, 'src', 'cli.ts');
  void import(pathToFileURL(existsSync(sources) ? sources : join(root, 'dist', 'cli.js')).href);
}
