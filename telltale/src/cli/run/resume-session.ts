import { resolve } from 'node:path';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { LoadedAgent, ResumeOptions } from '../../session/runtime-types.ts';
import type { CommandContext } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { findSession } from '../session/find-session.ts';
import { readEvent } from '../session/read-log.ts';
import { isInMemory, storeExists, storeLocation } from '../session/store-location.ts';
import { withStoredRuntime } from '../session/with-runtime.ts';
import { loadForRun } from './load-for-run.ts';
import { type WorkOptions, workSession } from './work-session.ts';

export interface ResumeSessionOptions extends WorkOptions {
  /** The agent to go on with; by default the one that the session was started with, read anew. */
  readonly agent?: LoadedAgent;
  /** A message that is put before the agent first. */
  readonly said?: string;
  readonly model?: string;
  readonly record?: string;
  readonly acceptChanges?: true;
}
