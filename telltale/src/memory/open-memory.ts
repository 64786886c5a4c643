import { lstatSync, realpathSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Clock } from '../kernel/clock.ts';
import { toRuntimeError } from '../kernel/runtime-error.ts';
import type { LoadTokenizer } from '../kernel/tokenizer.ts';
import type { FactSubject, NewFact } from '../store/graph.ts';
import type { Store } from '../store/store.ts';
import { findGitFolder, readCommit } from './index/git-folder.ts';
import { graphName } from './index/graph-name.ts';
import { graphPath } from './index/graph-paths.ts';
import { createIndexer } from './index/indexer.ts';
import { RACY_MS } from './index/limits.ts';
import type { LearnedFact, Memory, MemoryAnswer } from './memory.ts';
import { folderMissing, folderUnreadable, notAFolder } from './memory-errors.ts';

export interface OpenMemoryOptions {
  /** It stays the caller's to close. */
  readonly store: Pick<Store, 'location' | 'tables' | 'graphs'>;
  /** Absolute, or relative to `cwd`. */
  readonly folder: string;
  readonly cwd?: string;
  readonly clock: Clock;
  readonly tokenizer: LoadTokenizer;
  /** A question looks at the folder again when the last look is longer ago. */
  readonly freshnessMs?: number;
  /** How long a question waits for that. */
  readonly waitMs?: number;
  /** The module that reads sources: one with `createSourceParser`. */
  readonly parser?: URL;
}

const FRESHNESS_MS = 1_000;
const WAIT_MS = 2_000;
const SOURCE = new URL('./parse/source-parser.ts', import.meta.url);
const PARSER = import.meta.url.endsWith('.ts') ? SOURCE : new URL(SOURCE.href.replace(/\.ts$/, '.js'));
