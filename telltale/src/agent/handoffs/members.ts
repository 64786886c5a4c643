import { type RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import type { Cause, LiveEvent } from '../../log/event.ts';
import { SPEAKER } from '../../log/fold-life.ts';
import type { SessionState } from '../../log/state.ts';
import type { ChildDeps } from '../children/child-edges.ts';
import { speakerId } from '../children/child-id.ts';
import { childLineage } from '../children/child-lineage.ts';
import { stopOf, whenFree } from '../children/child-runner.ts';
import type { Begin, ChildSession } from '../children/child-session.ts';
import { type ChildEnd, idTaken, MAX_DEPTH, resultOf, tooDeep } from '../children/child-session.ts';
import { createLogCopy } from '../children/copy-log.ts';
import { sharedFields, valuesOf } from '../children/shared-metadata.ts';
import { type InboxTold, type SharedValues, TOLD } from '../inbox.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import { readSession } from '../read-session.ts';
import { createSpeechSoFar, type OpenSpeech } from '../speech.ts';
import { inheritedVariables, settableVariables } from '../variables/declared-variables.ts';

/** What a new agent begins with: what it is told, and where that stands on the log of the conversation. */
export interface MembersBeginning {
  readonly text: string;
  readonly seq: number;
  readonly depth: number;
}

interface MembersOpened {
  readonly session: ChildSession;
  readonly id: string;
  /** What it was told before, or begins with. */
  readonly told: number;
  readonly take: Parameters<ChildSession['subscribe']>[0];
}

/** An agent of a conversation whose session is another one than the conversation's own. */
export class Member {
  /** The last event of its log that is on the conversation's, too. */
  private seen = 0;
  private sent: number;
  /** Of what its last event brings about. */
  lastCause: Cause | undefined;
  private end: { readonly ended: ChildEnd } | { readonly error: RuntimeError } | undefined;
  private readonly listeners = new Set<() => void>();
  private readonly speech = createSpeechSoFar();

  private readonly deps: ChildDeps;
  private readonly id: string;
  readonly agent: LoadedAgent<unknown>;
  readonly session: ChildSession;

  constructor(deps: ChildDeps, agent: LoadedAgent<unknown>, { session, id, told, take }: MembersOpened) {
    this.sent = told;
    this.deps = deps;
    this.agent = agent;
    this.session = session;
    this.id = id;
    session.subscribe((event) => {
      if (!('seq' in event)) return this.relay(event);
      take(event);
      this.speech.note(event);
      this.seen = event.seq;
      if (event.type !== 'session.waiting')
        this.lastCause = { stream: id, seq: event.seq, depth: event.cause.depth + 1 };
      this.moved();
    });
    session.rest.onMoved(() => this.moved());
    session.result
      .then(
        (ended) => {
          this.end = { ended: ended as ChildEnd }; // a child's result is JSON, as its log has it
        },
        (thrown: unknown) => {
          this.end = { error: toRuntimeError(thrown) };
        },
      )
      .then(() => this.moved());
  }

  get hasEnded(): boolean {
    return this.end !== undefined;
  }

  get state(): SessionState | undefined {
    return this.session.peek();
  }

  /** Whether it has answered all that the conversation told it up to `seq`, and all of that is on both logs. */
  isDone(seq: number): boolean {
    const { state } = this;
    return state?.idle === true && (state.toldSeq ?? 0) >= seq && this.seen >= state.seq;
  }

  /** Whether all that the conversation told it up to `seq` is on its log, or on its way there. */
  hasHeard(seq: number): boolean {
    return this.sent >= seq;
  }

  /** Whether its log is there: before that nobody can leave it a message. */
  get hasBegun(): boolean {
    return this.seen > 0;
  }

  /** What it says reaches the person as it comes. */
  private relay(event: LiveEvent): void {
    if (event.type === 'action.progress') return;
    const { log } = this.deps;
    const said = { ...event, session: log.state.id, speaker: this.agent.manifest.name };
    this.speech.note(said);
    if (log.watched) log.show(said);
  }

  openSpeech(): OpenSpeech | undefined {
    return this.speech.open();
  }

  /** Leaves it a message, unless it has it. What it has had it takes once, whoever sends it again after a crash. */
  async tell(message: Pick<InboxTold, 'from' | 'text' | 'seq' | 'depth'>): Promise<void> {
    if (message.seq <= this.sent) return;
    this.sent = message.seq;
    const values = sharedValues(this.deps, this.agent);
    const body = { ...message, ...values };
    await this.deps.store.send(this.id, { kind: TOLD, from: 'parent', body });
  }

  /** Throws what it failed with. */
  async outcome(): Promise<void> {
    if (this.end === undefined) return;
    if ('error' in this.end) throw this.end.error;
    resultOf(this.agent.manifest.name, this.end.ended);
  }

  onMoved(then: () => void): () => void {
    this.listeners.add(then);
    return () => this.listeners.delete(then);
  }

  private moved(): void {
    for (const then of [...this.listeners]) then();
  }

  /** Ends its session as the conversation's own ends. */
  async stop(why: string): Promise<void> {
    this.session.stop(stopOf(this.deps.stop, new Error(why)));
    await this.session.result.catch(() => undefined); // how it ended is on its log
  }

  async finish(): Promise<void> {
    this.session.finish();
    await this.session.result.catch(() => undefined); // likewise
  }
}

/** What of the conversation's variables and metadata the agent has, too. */
function sharedValues({ prepared, log }: ChildDeps, { manifest }: LoadedAgent<unknown>): SharedValues {
  const parent = prepared.agent.manifest;
  const own = new Set(
    settableVariables(manifest)
      .filter(({ writers }) => writers.includes('model'))
      .map(({ name }) => name),
  );
  const inherited = Object.entries(inheritedVariables(parent, manifest, log.state, true));
  return {
    vars: Object.fromEntries(inherited.filter(([name]) => own.has(name))),
    metadata: valuesOf(log.state.metadata, sharedFields(parent, manifest)),
  };
}

/** Starts the session of an agent, or takes it up where its log ends. */
export async function openMember(
  deps: ChildDeps,
  agent: LoadedAgent<unknown>,
  beginning: MembersBeginning,
): Promise<Member> {
  const { prepared, log, store, spawn } = deps;
  const { manifest } = agent;
  const { state } = log;
  const agents = [...(state.parent?.agents ?? []), state.agent];
  if (agents.length > MAX_DEPTH) throw tooDeep([...agents, manifest.name]);
  const action = `${SPEAKER}${manifest.name}`;
  const id = speakerId(state, manifest.name);
  // Nothing of it is written before the handoff that it stands for: one that nobody remembers would be lost.
  const [known] = await Promise.all([store.info(id), log.flushed()]);
  const parent = { session: state.id, action, agents };
  const cause = { stream: state.id, seq: beginning.seq, depth: beginning.depth };
  const begin = { id, agent, lineage: childLineage(deps, manifest, parent, cause) };
  // One that names no model runs on that of the first agent.
  const model = manifest.model === undefined ? { model: prepared.model } : {};
  const copy = createLogCopy(
    { ...deps, parent: prepared.agent.manifest },
    { child: manifest, session: id, action },
  );
  const follow = (begun: Begin, told: number) =>
    new Member(deps, agent, { session: spawn(begun), id, told, take: copy.take });
  if (known === undefined || known.head === 0)
    return follow(
      { kind: 'start', ...begin, start: { input: beginning.text, chat: true, ...model } },
      beginning.seq,
    );
  const { parent: works, toldSeq = 0 } = await readSession(store, id);
  if (works?.session !== state.id || works.action !== action) throw idTaken(manifest.name, id);
  const { signal } = new AbortController();
  return whenFree(
    deps,
    async () => {
      await copy.catchUp();
      return follow({ kind: 'resume', ...begin, resume: { chat: true, ...model } }, toldSeq);
    },
    signal,
  );
}
