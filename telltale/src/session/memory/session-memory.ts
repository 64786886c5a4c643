import { resolve } from 'node:path';
import type { Cause } from '../../events/event.ts';
import { FEED_LATE } from '../../events/feed-event.ts';
import type { Clock } from '../../kernel/clock.ts';
import { RuntimeError, toRuntimeError } from '../../kernel/runtime-error.ts';
import type { LoadTokenizer } from '../../kernel/tokenizer.ts';
import { within } from '../../kernel/within.ts';
import type { Memory } from '../../memory/memory.ts';
import type { PermittedPaths } from '../../targets/access/permitted-paths.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import type { SessionDeps } from '../session-edges.ts';
import type { SessionLog } from '../session-log.ts';
import type { Memories } from './memories.ts';
import { withPermissions } from './permitted-view.ts';
import { touchedFiles } from './touched-files.ts';

/** The knowledge graph in one session. */
export interface SessionMemory {
  readonly open: () => Promise<Memory>;
  /** Brings the graph up to date beside the first turns. */
  begin(): void;
  /** Before a turn: shows what of the graph has to do with the task, once. Undefined where there is nothing to show. */
  beforeTurn(): Promise<void> | undefined;
  /** Adds what the session's actions read and changed: after its end and after each step it was led through. */
  note(): Promise<void>;
}

export interface SessionMemoryDeps {
  readonly memories: Memories;
  readonly agent: LoadedAgent<unknown>;
  readonly log: SessionLog;
  readonly clock: Clock;
  readonly tokenizer: LoadTokenizer;
  readonly origin: () => Cause;
  /** What of the folder the agent may read. */
  readonly paths: PermittedPaths;
}

/** Of an agent that has one. */
export function openMemory(deps: SessionDeps): SessionMemory | undefined {
  const { prepared, origin, runtime } = deps;
  const { graph } = prepared.agent.manifest.memory ?? {};
  if (graph === undefined) return undefined;
  const { agent, targets } = prepared;
  const { paths } = targets.deps.permissions;
  return createSessionMemory({ ...runtime, ...deps, agent, paths, origin: () => origin }, graph);
}

const MEMORY_FEED = 'builtin:memory';

/** What a session's end waits for the graph at the most. */
const NOTE_MS = 5_000;

function createSessionMemory(deps: SessionMemoryDeps, graph: string): SessionMemory {
  const { memories, agent, log, clock } = deps;
  const { state } = log;
  const { manifest, folder } = agent;
  const inject = manifest.memory?.inject ?? 0;
  const graphFolder = resolve(folder, graph);
  const open = async () => withPermissions(await memories.open(graphFolder), deps.paths);
  /** What cannot be had is no reason to end a session: the log says why. */
  const tell = (what: string) => (thrown: unknown) => {
    const { code, message } = toRuntimeError(thrown);
    log.append({ type: 'audit', who: 'runtime', what: `${what} (${code}): ${message}` }, deps.origin());
  };
  let found: Promise<string> | undefined;
  let isLate = false;
  let isDone = inject === 0;

  /** Whether all has been said. A turn waits for it once; later it is taken when it is there. */
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

  /** Looked at when it is asked for: a session that was ended meanwhile has let go of its actions. */
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
  /** One after the other; undefined once all are written. */
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
      // What the step before found is there for this one to ask.
      const written =
        noting &&
        within(clock, manifest.limits.feed_deadline.ms, noting).then((waited) => {
          if (waited.kind === 'failed') throw waited.error;
        });
      if (isDone || state.off.includes(MEMORY_FEED)) return written;
      if (state.feeds.get(MEMORY_FEED)?.last !== undefined) {
        isDone = true; // before a restart
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
