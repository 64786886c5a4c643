#!/usr/bin/env node
// Plain JavaScript that Node 18 can run: an old Node is told what to do, or replaced by a newer one near by.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findNewerNode, isAtLeast, MINIMUM_NODE } from './node-version.js';
import { quickStart } from './quick-start.js';

/** Set for the Node that is started in this one's place, so that it is never done twice. */
const REPLACED = 'TELLTALE_NODE_REPLACED';
const BAD_USAGE = 2;

const here = fileURLToPath(import.meta.url);
const home = new URL('../', import.meta.url);

/**
 * @param {string} what
 * @param {string} where
 * @param {string} remedy
 */
function refuse(what, where, remedy) {
  process.stderr.write(`${what}\n${where}\n${remedy}\n`);
  return BAD_USAGE;
}

async function runOnNewerNode() {
  const node = process.env[REPLACED] === undefined ? findNewerNode(dirname(here)) : undefined;
  if (node === undefined) {
    return refuse(
      `telltale needs Node ${MINIMUM_NODE} or later; this is Node ${process.versions.node}.`,
      `  at ${process.execPath}`,
      'Install a newer Node from https://nodejs.org, then run the command again.',
    );
  }
  const { passThrough } = await import('./pass-through.js');
  return passThrough(node, [here, ...process.argv.slice(2)], { env: { ...process.env, [REPLACED]: '1' } });
}

async function runHere() {
  delete process.env[REPLACED];
  const entry = new URL('cli/start.js', quickStart(home));
  try {
    const { start } = await import(entry.href);
    return await start(process.argv.slice(2));
  } catch (error) {
    if (!isUnbuilt(error, entry)) throw error;
    return refuse(
      'telltale is not built.',
      `  at ${fileURLToPath(entry)}`,
      'Run "npm run build" in the repository.',
    );
  }
}

/**
 * @param {unknown} error
 * @param {URL} entry
 */
function isUnbuilt(error, entry) {
  return (
    error instanceof Error &&
    'url' in error &&
    error.url === entry.href &&
    'code' in error &&
    error.code === 'ERR_MODULE_NOT_FOUND'
  );
}

// All that it prints has been taken by then; what a tool has left open (a timer, a pool) must not keep the process.
process.exit(await (isAtLeast(process.versions.node, MINIMUM_NODE) ? runHere() : runOnNewerNode()));
