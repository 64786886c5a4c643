import type { LoadedAgent } from '../../src/agent/loaded-agent.ts';
import type { LoadedWorkflow, RunResult, WorkflowRun } from '../../src/agent/runs/run-types.ts';
import type {
  ResumeOptions,
  Runtime,
  RuntimeOptions,
  Session,
  SessionResult,
  StartOptions,
} from '../../src/agent/runtime-types.ts';
import type { RuntimePort } from '../../src/cli/command.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import { encodeEvent } from '../../src/log/codec.ts';
import type { ObservedEvent, SessionEvent } from '../../src/log/event.ts';
import { fold } from '../../src/log/reduce.ts';
import { foldRun } from '../../src/log/reduce-run.ts';
import { encodeRunEvent } from '../../src/log/run-codec.ts';
import type { RunEvent } from '../../src/log/run-event.ts';
import type { Append, InboxMessage, Store, StreamInfo } from '../../src/store/store.ts';
import { SESSION } from './event-list.ts';

/** A store that holds these logs; sessions that are run come from `live`. */
export interface FakeOptions {
  readonly logs?: readonly (readonly SessionEvent[])[];
  /** Logs of workflow runs. */
  readonly runs?: readonly (readonly RunEvent[])[];
  /** What a started or resumed run brings. */
  readonly workflow?: (given: unknown) => {
    readonly events: Iterable<RunEvent> | AsyncIterable<RunEvent>;
    readonly result: Partial<RunResult> | Promise<Partial<RunResult>>;
  };
  /** Runs that are worked on until `idle` resolves. */
  readonly working?: { readonly runs: readonly string[]; readonly idle: Promise<void> };
  readonly infos?: Readonly<Record<string, Partial<StreamInfo>>>;
  /** What a started or resumed session brings. */
  readonly live?: (given: StartOptions | ResumeOptions, options: RuntimeOptions) => LiveFake;
  readonly loadError?: RuntimeError;
  readonly closeError?: RuntimeError;
}

export interface LiveFake {
  readonly events: Iterable<ObservedEvent> | AsyncIterable<ObservedEvent>;
  readonly result: Partial<SessionResult> | Promise<Partial<SessionResult>>;
  readonly onInterrupt?: () => void;
}

export interface FakeRuntime extends RuntimePort {
  /** What was asked of it, in order. */
  readonly calls: unknown[][];
  readonly sent: [stream: string, message: Omit<InboxMessage, 'id' | 'at'>][];
  readonly appended: Append[];
  /** Adds to a log and tells whoever watches it. */
  commit(events: readonly SessionEvent[]): void;
}

export const RUN = 'run_01jc0000000000000000000run';

const AGENT = { path: '/p/agent.yml', hash: 'h', project: { manifests: [] } } as unknown as LoadedAgent;

export function fakeRuntime(options: FakeOptions = {}): FakeRuntime {
  const logs = new Map<string, SessionEvent[]>();
  const watchers = new Map<string, Set<() => void>>();
  const calls: unknown[][] = [];
  const sent: FakeRuntime['sent'] = [];
  const appended: Append[] = [];
  for (const log of options.logs ?? []) if (log[0] !== undefined) logs.set(log[0].session, [...log]);

  const runs = new Map((options.runs ?? []).map((log) => [log[0]?.run ?? '', [...log]]));
  const placeOf = (stream: string) => [...logs.keys(), ...runs.keys()].indexOf(stream) + 1;
  const runInfo = (stream: string, log: readonly RunEvent[]): StreamInfo => {
    const state = foldRun(log);
    const parent = state.origin.parent?.run ?? state.origin.session?.id;
    return {
      stream,
      kind: 'run',
      name: state.workflow,
      status: state.status,
      title: state.workflow,
      place: placeOf(stream),
      createdAt: state.startedAt,
      updatedAt: state.at,
      head: log.length,
      ...(parent === undefined ? {} : { parent }),
      ...options.infos?.[stream],
    };
  };
  const info = (stream: string): StreamInfo | undefined => {
    const run = runs.get(stream);
    if (run !== undefined) return runInfo(stream, run);
    const log = logs.get(stream);
    if (log === undefined) return undefined;
    const state = fold(log);
    return {
      stream,
      place: placeOf(stream),
      kind: 'session',
      name: state.agent,
      status: state.status,
      title: state.input,
      createdAt: log[0]?.at ?? 0,
      updatedAt: state.at,
      head: log.length,
      ...options.infos?.[stream],
    };
  };
  const line = ({ seq, at, session, turn, cause, ...body }: SessionEvent) =>
    encodeEvent({ seq, at, session, turn, cause }, body);

  const runLine = ({ seq, at, run, cause, ...body }: RunEvent) =>
    encodeRunEvent({ seq, at, run, cause }, body);
  const workflowRun = (id: string, given: unknown): WorkflowRun => {
    const live = options.workflow?.(given) ?? { events: [], result: {} };
    let interrupted = () => {};
    const stopped = new Promise<Partial<RunResult>>((resolve) => {
      interrupted = () => resolve({ status: 'interrupted' });
    });
    return {
      id,
      result: Promise.race([Promise.resolve(live.result), stopped]).then((result) => ({
        run: id,
        status: 'completed',
        ...result,
      })),
      events: {
        async *[Symbol.asyncIterator]() {
          yield* live.events;
        },
      },
      subscribe: () => () => {},
      cancel: async () => {},
      async interrupt() {
        calls.push(['interrupt']);
        interrupted();
      },
    };
  };

  const store = {
    location: 'sqlite:fake.db',
    close: async () => {},
    tables: { set: async () => {}, get: async () => true, keys: async () => [] } as never,
    info: async (stream) => info(stream),
    list: async (filter) =>
      [...logs.keys(), ...runs.keys()]
        .flatMap((stream) => info(stream) ?? [])
        .filter(({ kind }) => filter?.kind === undefined || kind === filter.kind)
        .filter(({ parent }) => filter?.parent === undefined || parent === filter.parent)
        .toSorted((a, b) => b.createdAt - a.createdAt)
        .slice(0, filter?.limit),
    snapshots: async () => [],
    read: async (stream, { from = 1, limit = 1000 } = {}) =>
      (runs.get(stream)?.map(runLine) ?? (logs.get(stream) ?? []).map(line)).slice(
        from - 1,
        from - 1 + limit,
      ),
    watch(stream, moved) {
      const those = watchers.get(stream) ?? new Set();
      watchers.set(stream, those.add(moved));
      return () => those.delete(moved);
    },
    send: async (stream, message) => sent.push([stream, message]),
    async acquire(stream) {
      const owner = info(stream)?.owner;
      if (owner !== undefined)
        throw new RuntimeError('stream_owned', `${stream} belongs to process ${owner.pid}.`);
      calls.push(['acquire', stream]);
      return {
        stream,
        append: (append: Append, settled: () => void) => {
          appended.push(append);
          settled();
        },
        release: async () => void calls.push(['release']),
      } as never;
    },
  } satisfies Partial<Store>;

  const session = (live: LiveFake, id: string): Session => {
    let interrupted = () => {};
    const stopped = new Promise<Partial<SessionResult>>((resolve) => {
      interrupted = () => resolve({ status: 'interrupted' });
    });
    const result = Promise.race([Promise.resolve(live.result), stopped]).then(
      (given): SessionResult => ({
        session: id,
        status: 'completed',
        turns: 1,
        usage: { input: 900, output: 120 },
        cost_usd: 0.0031,
        ...given,
      }),
    );
    return {
      id,
      events: {
        async *[Symbol.asyncIterator]() {
          yield* live.events;
        },
      },
      result,
      subscribe: () => () => {},
      speech: () => {},
      steer: async () => {},
      say: async (text) => void calls.push(['say', text]),
      prompt: async () => {
        throw new Error('nothing here is asked');
      },
      breakOff: () => void calls.push(['breakOff']),
      finish: () => void calls.push(['finish']),
      cancel: async () => {},
      async interrupt() {
        calls.push(['interrupt']);
        live.onInterrupt?.();
        interrupted();
      },
    };
  };

  const port: FakeRuntime = {
    calls,
    sent,
    appended,
    commit(events) {
      for (const event of events) logs.set(event.session, [...(logs.get(event.session) ?? []), event]);
      for (const stream of new Set(events.map((event) => event.session)))
        for (const moved of watchers.get(stream) ?? []) moved();
    },
    async loadAgent(path, given) {
      calls.push(['loadAgent', path, given.name]);
      if (options.loadError !== undefined) throw options.loadError;
      return AGENT;
    },
    async loadWorkflow(path, { workflow, agent }) {
      calls.push(['loadWorkflow', path, workflow, agent]);
      if (options.loadError !== undefined) throw options.loadError;
      return { agent: AGENT } as LoadedWorkflow;
    },
    async createRuntime(given) {
      const named = typeof given.store === 'object' ? given.store.location : given.store;
      calls.push(['createRuntime', named, given.durability]);
      const begin = (start: StartOptions | ResumeOptions, id: string) =>
        session(options.live?.(start, given) ?? { events: [], result: {} }, id);
      const runtime: Runtime = {
        store: store as unknown as Store,
        start(_agent, start) {
          calls.push(['start', start]);
          return begin(start, SESSION) as Session<never>;
        },
        async resume(id, resume = {}) {
          calls.push(['resume', id, resume]);
          await resume.first?.();
          return begin(resume as ResumeOptions, id) as Session<never>;
        },
        forClients: () => {
          throw new Error('nothing here works for clients');
        },
        feeds: async () => {
          throw new Error('nothing here has feeds');
        },
        preview: async () => {
          throw new Error('nothing here is shown');
        },
        prompt: async () => {
          throw new Error('nothing here is asked');
        },
        memory: async () => {
          throw new Error('nothing here remembers');
        },
        watch: () => () => undefined,
        session: () => undefined,
        preload: async () => undefined,
        why: async () => ({ events: [] }),
        artifacts: async () => {
          throw new Error('nothing here has artifacts');
        },
        testArtifact: async () => {
          throw new Error('nothing here has artifacts');
        },
        async fork(id, seq, changes = {}) {
          calls.push(['fork', id, seq, ...(Object.keys(changes).length === 0 ? [] : [changes])]);
          return 'ses_forked';
        },
        events: async (id) => logs.get(id) ?? [],
        state: async (id, seq = Number.POSITIVE_INFINITY) =>
          fold((logs.get(id) ?? []).filter((event) => event.seq <= seq)),
        async steer(id, text, from = 'user') {
          await store.send(id, { kind: 'steer', from, body: text });
        },
        async cancel(id, reason = '', from = '') {
          await store.send(id, { kind: 'cancel', from, body: reason });
        },
        workflows: {
          idle: () => options.working?.idle ?? Promise.resolve(),
          active: () => options.working?.runs ?? [],
          start(_workflow: LoadedWorkflow, start: unknown) {
            calls.push(['workflows.start', start]);
            return workflowRun(RUN, start);
          },
          changes: async (run: string) => ({ run, changed: false, steps: [], undecided: [] }),
          async resume(id: string, resume: unknown) {
            calls.push(['workflows.resume', id, resume]);
            return workflowRun(id, resume);
          },
        } as unknown as Runtime['workflows'],
        reviews: async () => [],
        review: async (review) => {
          throw new RuntimeError('review_unknown', `No review is named "${review}".`);
        },
        answer: async (review, answer) => {
          calls.push(['answer', review, answer]);
          throw new RuntimeError('review_unknown', `No open review is named "${review}".`);
        },
        async drain() {},
        async close() {
          calls.push(['close']);
          if (options.closeError !== undefined) throw options.closeError;
        },
      };
      return runtime;
    },
    openStore: async (location) => ({ ...store, location }) as unknown as Store,
    openSessions: (given) => port.createRuntime(given),
  };
  return port;
}
