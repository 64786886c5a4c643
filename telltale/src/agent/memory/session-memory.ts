import { lstatSync } from 'node:fs';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import { within } from '../../lib/clock.ts';
import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import type { LoadTokenizer } from '../../lib/tokens.ts';
import type { ActionState } from '../../log/action.ts';
import type { Cause } from '../../log/event.ts';
import { FEED_LATE } from '../../log/feed-event.ts';
import type { Memory, MemoryView } from '../../memory/memory.ts';
import type { PermittedPaths } from '../../tools/access/permitted-paths.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import type { SessionDeps } from '../session-edges.ts';
import type { SessionLog } from '../session-log.ts';
import type { Memories } from './memories.ts';

/** The knowledge graph as one session uses it. */
export interface SessionMemory {
  readonly open: () => Promise<Memory>;
  /** Updates the graph during the first turns. */
  begin(): void;
  /**
   * Before a turn: shows the parts of the graph that are relevant for the task, once. Undefined if there is
   * nothing to wait for.
   */
  beforeTurn(): Promise<void> | undefined;
  /**
   * Adds files that the session's actions read and changed. Called after the session and after each guided
   * step.
   */
  note(): Promise<void>;
}

export interface SessionMemoryDeps {
  readonly memories: Memories;
  readonly agent: LoadedAgent<unknown>;
  readonly log: SessionLog;
  readonly clock: Clock;
  readonly tokenizer: LoadTokenizer;
  readonly origin: () => Cause;
  /** The paths that the agent may read. */
  readonly paths: PermittedPaths;
}

/** Undefined if the agent has no knowledge graph. */
export function openMemory(deps: SessionDeps): SessionMemory | undefined {
  const { prepared, origin, runtime } = deps;
  const { graph } = prepared.agent.manifest.memory ?? {};
  if (graph === undefined) return undefined;
  const { agent, targets } = prepared;
  const { paths } = targets.deps.permissions;
  return createSessionMemory({ ...runtime, ...deps, agent, paths, origin: () => origin }, graph);
}

const MEMORY_FEED = 'builtin:memory';

/** How long the end of a session waits for the graph. */
const NOTE_MS = 5_000;

function createSessionMemory(deps: SessionMemoryDeps, graph: string): SessionMemory {
  const { memories, agent, log, clock } = deps;
  const { state } = log;
  const { manifest, folder } = agent;
  const inject = manifest.memory?.inject ?? 0;
  const graphFolder = resolve(folder, graph);
  const open = async () => withPermissions(await memories.open(graphFolder), deps.paths);
  /** Records an error on the log. A missing graph does not end the session. */
  const tell = (what: string) => (thrown: unknown) => {
    const { code, message } = toRuntimeError(thrown);
    log.append({ type: 'audit', who: 'runtime', what: `${what} (${code}): ${message}` }, deps.origin());
  };
  let found: Promise<string> | undefined;
  let isLate = false;
  let isDone = inject === 0;

  /**
   * Returns whether the relevant parts were shown. Only one turn waits for them. Later turns show them once
   * they are there.
   */
  const show = async (): Promise<boolean> => {
    found ??= open().then((memory) => memory.relevant(state.input, inject));
    const asked = await within(clock, isLate ? 0 : manifest.limits.feed_deadline.ms, found);
    if (asked.kind === 'failed') throw asked.error;
    if (asked.kind === 'late') {
      if (!isLate) log.append(late, deps.origin());
      isLate = true;
      return false;
    }
    const part = asked.value;
    if (part === '') return true;
    const tokens = (await deps.tokenizer()).count(part);
    log.append(
      { type: 'feed.updated', id: MEMORY_FEED, value: part, tokens, loaded_at: clock.now(), told: true },
      deps.origin(),
    );
    return true;
  };

  /** Computed at once, because a session that ends releases its actions. */
  const touchedSoFar = () =>
    touchedFiles(state.actions.values(), { folder, graph: graphFolder, startedAt: state.startedAt });
  const note = async (touched: ReturnType<typeof touchedFiles>) => {
    if (touched.read.length + touched.changed.length === 0) return;
    const work = open().then(async (memory) => {
      if (touched.changed.length > 0) await memory.index({ paths: touched.changed });
      await memory.noteSession({ session: state.id, title: titleOf(state.input), ...touched });
    });
    const noted = await within(clock, NOTE_MS, work);
    if (noted.kind !== 'done')
      tell('What the session did is not in the knowledge graph')(
        noted.kind === 'failed' ? noted.error : tooSlow(),
      );
  };
  /** The pending writes, one after the other. Undefined once all are done. */
  let noting: Promise<void> | undefined;
  const noteNext = (): Promise<void> => {
    const touched = touchedSoFar();
    const next = (noting ?? Promise.resolve())
      .then(() => note(touched))
      .finally(() => {
        if (noting === next) noting = undefined;
      });
    noting = next;
    return next;
  };
  log.react((event) => {
    if (event.type === 'task.over') void noteNext();
  });

  return {
    open,
    begin() {
      open()
        .then((memory) => memory.index())
        .catch(tell('The knowledge graph could not be brought up to date'));
    },
    beforeTurn() {
      // So that a guided step can query what the previous one found.
      const written =
        noting &&
        within(clock, manifest.limits.feed_deadline.ms, noting).then((waited) => {
          if (waited.kind === 'failed') throw waited.error;
        });
      if (isDone || state.off.includes(MEMORY_FEED)) return written;
      if (state.feeds.get(MEMORY_FEED)?.last !== undefined) {
        isDone = true; // shown before a restart
        return written;
      }
      return show().then(
        (said) => {
          isDone = said;
          return written;
        },
        (thrown) => {
          isDone = true;
          tell('The knowledge graph could not be shown')(thrown);
          return written;
        },
      );
    },
    note: noteNext,
  };
}

const MAX_TITLE = 200;

const titleOf = (input: string) => input.trim().replaceAll(/\s+/g, ' ').slice(0, MAX_TITLE);

const late = {
  type: 'feed.failed',
  id: MEMORY_FEED,
  error: {
    code: FEED_LATE,
    message: 'The knowledge graph is still being built: what it knows of your task comes with a later turn.',
    retryable: true,
  },
  times: 1,
  told: true,
} as const;

const tooSlow = () =>
  new RuntimeError('timeout', `The graph was not written within ${NOTE_MS / 1000} s.`, { retryable: true });

/** Restricts a graph to files that the agent may read. */
function withPermissions(memory: Memory, paths: PermittedPaths): Memory {
  const view = permittedView(paths, memory.folder);
  return {
    ...memory,
    query: (query) => memory.query(query, view),
    relevant: (text, maxTokens) => memory.relevant(text, maxTokens, view),
  };
}

function permittedView(paths: PermittedPaths, folder: string): MemoryView {
  const may = (path: string) =>
    paths.resolve(path).then(
      (permitted) => permitted,
      () => undefined,
    );
  return {
    async mayRead(files) {
      // Usually the whole folder is readable. Then no file needs a check on disk.
      const whole = await may(folder);
      const verdicts = await Promise.all(
        files.map(async (file) => {
          const path = join(folder, file);
          if (whole === undefined) return (await may(path)) !== undefined;
          return whole.covers(path) && !(await whole.isDenied(path));
        }),
      );
      return new Set(files.filter((_, at) => verdicts[at]));
    },
  };
}

export interface Touched {
  /** Absolute. */
  readonly read: readonly string[];
  readonly changed: readonly string[];
}

/** The maximum number of files per session. */
const MAX_FILES = 1_000;
/** How deeply parameters are searched for paths, and the maximum length of a path. */
const MAX_DEPTH = 3;
const MAX_PATH_CHARS = 1_024;

const WRITES = new Set(['write', 'edit']);

/**
 * The files that actions read and changed, found in their parameters by code. Only existing files count. A
 * file that is newer than the session counts as changed.
 */
export function touchedFiles(
  actions: Iterable<ActionState>,
  where: { readonly folder: string; readonly graph: string; readonly startedAt: number },
): Touched {
  const read = new Set<string>();
  const changed = new Set<string>();
  for (const { action, status, input } of actions) {
    if (status !== 'completed' || action.kind !== 'tool' || input === undefined) continue;
    const writes = typeof input.operation === 'string' && WRITES.has(input.operation);
    for (const text of textsIn(input)) {
      if (read.size + changed.size >= MAX_FILES) break;
      const path = pathOf(text, where.folder, where.graph);
      const mtimeMs = path === undefined ? undefined : fileTime(path);
      if (path === undefined || mtimeMs === undefined) continue;
      if (writes || mtimeMs >= where.startedAt) changed.add(path);
      else read.add(path);
    }
  }
  return { read: [...read].filter((path) => !changed.has(path)), changed: [...changed] };
}

function* textsIn(value: Json, depth = 0): Iterable<string> {
  if (typeof value === 'string') yield value;
  else if (typeof value === 'object' && value !== null && depth < MAX_DEPTH)
    for (const part of Object.values(value)) yield* textsIn(part as Json, depth + 1);
}

/** The path inside the graph's folder that a text may name. */
function pathOf(text: string, folder: string, graph: string): string | undefined {
  if (text === '' || text.length > MAX_PATH_CHARS || /[\0\n]/.test(text)) return undefined;
  const path = resolve(folder, text);
  const within = relative(graph, path);
  const isOutside = within === '..' || within.startsWith(`..${sep}`) || isAbsolute(within);
  return within === '' || isOutside ? undefined : path;
}

/** Undefined if there is no such file. */
function fileTime(path: string): number | undefined {
  try {
    const stats = lstatSync(path);
    return stats.isFile() ? stats.mtimeMs : undefined;
  } catch {
    return undefined;
  }
}
