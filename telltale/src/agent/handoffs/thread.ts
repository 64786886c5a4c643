import { RuntimeError, toRuntimeError } from '../../lib/errors.ts';
import { suggest } from '../../lib/nearest.ts';
import type { SessionEvent } from '../../log/event.ts';
import { isAway, speakerOf } from '../../log/fold-handoffs.ts';
import { SPEAKER } from '../../log/fold-life.ts';
import type { Carried } from '../../log/handoff-event.ts';
import type { SessionState } from '../../log/state.ts';
import type { PendingMessage } from '../../log/thread-state.ts';
import { NOT_AGENTS } from '../../manifest/schema/handoff.ts';
import type { Conversation } from '../../prompt/conversation.ts';
import { cutText } from '../../prompt/text.ts';
import type { StreamInfo } from '../../store/store.ts';
import { speakerId } from '../children/child-id.ts';
import { summarizeText } from '../compact.ts';
import type { Inbox } from '../inbox.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import { type LoopEnd, startLoop } from '../loop.ts';
import { readEvents, readSession } from '../read-session.ts';
import type { UnfinishedTurn } from '../recover.ts';
import type { SessionContext } from '../session-context.ts';
import { childDepsOf, type SessionServices } from '../session-works.ts';
import { isReleased } from '../stop.ts';
import { type Member, type MembersBeginning, openMember } from './members.ts';
import {
  decideByEntries,
  decideByGroup,
  decideByMessage,
  firstOf,
  type Speaker,
  type SpeakerRulesDecision,
} from './speaker-rules.ts';

/** The parts of the session whose log is the conversation's. */
export interface Wired {
  readonly works: SessionServices;
  readonly context: SessionContext;
  readonly conversation: Conversation;
  readonly inbox: Inbox;
}

/**
 * A conversation that moves from agent to agent. Its log is the session's own, which is that of its first agent; every
 * other agent has a session below this one, copied here as a sub-agent's is. What has been decided is on the log before
 * the next agent hears of it, so that after a crash it goes on from there.
 */
export class Thread {
  /** Those whose sessions are worked on here, by name. */
  private readonly members = new Map<string, Member>();
  private known: ReadonlyMap<string, LoadedAgent<unknown>> | undefined;

  private readonly wired: Wired;

  constructor(wired: Wired) {
    this.wired = wired;
  }

  private get state(): SessionState {
    return this.wired.context.state;
  }

  /** One exchange: agents speak, one after another, until the person is to speak or the conversation is over. */
  async exchange(within: SessionContext, left: UnfinishedTurn | undefined): Promise<LoopEnd> {
    try {
      return (await this.endedBefore()) ?? (await this.speakInTurn(within, left));
    } catch (thrown) {
      return { kind: 'failed', error: toRuntimeError(thrown) };
    }
  }

  /** The process died while the conversation ended: the agent that has it had ended, and is not taken up again. */
  private async endedBefore(): Promise<LoopEnd | undefined> {
    const { state } = this;
    const name = this.speakerName();
    if (state.chat === true || !isAway(state) || this.members.has(name)) return undefined;
    const { store } = this.wired.context.deps.runtime;
    const session = speakerId(state, name);
    if ((await store.info(session))?.status !== 'completed') return undefined;
    const { response, toldSeq = 0 } = await readSession(store, session);
    return toldSeq < this.lastToTell() ? undefined : this.over('user', response?.text ?? null);
  }

  private async speakInTurn(within: SessionContext, left: UnfinishedTurn | undefined): Promise<LoopEnd> {
    const { state, stop, manifest } = within;
    let rest = left;
    let isNew = this.hasNewMessage(rest);
    for (;;) {
      const name = this.speakerName();
      const before = isNew ? await this.beforeSpeaking(within, name) : undefined;
      if (stop.reason !== undefined) return { kind: 'stopped' };
      isNew = true;
      if (before !== undefined && before.to !== name) {
        if (before.to === 'user' || before.to === 'end') return this.over(before.to, null);
        await this.handOver(within, name, before);
        continue;
      }
      const end = isAway(state) ? await this.hear(within, name) : await this.speak(within, rest);
      rest = undefined;
      if (end.kind !== 'completed') return end;
      const next = await this.afterSpeaking(within, name);
      if (stop.reason !== undefined) return { kind: 'stopped' };
      if (next.to === 'user' && this.isUnanswered(name)) continue;
      if (next.to === 'user' || next.to === 'end') {
        if (state.chat !== true) this.wired.inbox.hearNoMore();
        return this.over(next.to, end.result);
      }
      if (this.handoffs() >= manifest.limits.handoffs) throw tooMany(state, manifest.limits.handoffs);
      await this.handOver(within, name, next);
    }
  }

  private over(to: string, result: Extract<LoopEnd, { kind: 'completed' }>['result']): LoopEnd {
    return { kind: 'completed', result, ...(to === 'end' ? { over: true } : {}) };
  }

  private speakerName(): string {
    return this.state.thread?.speaker ?? this.state.agent;
  }

  private handoffs(): number {
    return Math.max(0, (this.state.thread?.spoken.length ?? 1) - 1);
  }

  /** Whether the agent that speaks has something to answer that it has not begun to. */
  private hasNewMessage(left: UnfinishedTurn | undefined): boolean {
    const { state } = this;
    if (isAway(state)) return true;
    return left === undefined || state.news.messages.length > 0;
  }

  /** Whether something was said to the agent after it had answered. */
  private isUnanswered(name: string): boolean {
    const { state } = this;
    if (!isAway(state)) return state.news.messages.length > 0 && state.handoff === undefined;
    return this.members.get(name)?.hasHeard(this.lastToTell()) === false;
  }

  private speakerAt(name: string): Speaker {
    const { context } = this.wired;
    if (name === this.state.agent) return { manifest: context.manifest, state: this.state };
    return { manifest: this.agentNamed(name).manifest, state: this.members.get(name)?.state };
  }

  /** Where the conversation goes before the agent is asked. */
  private async beforeSpeaking(
    within: SessionContext,
    name: string,
  ): Promise<SpeakerRulesDecision | undefined> {
    const { thread, turn } = this.state;
    if (thread === undefined && turn === 0 && within.manifest.group !== undefined) {
      const first = firstOf(within.manifest);
      if (first !== name) return { to: first, by: 'group' };
    }
    const isOwn = name === this.state.agent;
    const member = isOwn ? undefined : await this.opened(name);
    if (member?.hasHeard(this.lastToTell()) === true) return undefined;
    const speaker = this.speakerAt(name);
    const isMessage = isOwn
      ? this.state.news.messages.some(({ from }) => from === 'user')
      : (thread?.pending.length ?? 0) > 0;
    const isWaitedFor = (thread?.spoken.length ?? 1) <= 1;
    const byMessage =
      isMessage && isWaitedFor ? await decideByMessage(this.wired.context, speaker) : undefined;
    if (byMessage !== undefined && byMessage.to !== name) return byMessage;
    const byEntry = await decideByEntries(this.wired.context, speaker, 'before_turn');
    if (byEntry !== undefined && this.handoffs() >= within.manifest.limits.handoffs)
      throw tooMany(this.state, within.manifest.limits.handoffs);
    return byEntry;
  }

  private async afterSpeaking(within: SessionContext, name: string): Promise<SpeakerRulesDecision> {
    const speaker = this.speakerAt(name);
    const asked = speaker.state?.handoff;
    if (asked !== undefined) {
      const { to, reason, carry, summary, seq, depth } = asked;
      const stream = speaker.state?.id ?? this.state.id;
      return { to, by: 'model', reason, carry, summary, cause: { stream, seq, depth } };
    }
    const last = speaker.state?.response?.text;
    return (
      (await decideByEntries(this.wired.context, speaker, 'after_turn')) ??
      (await decideByGroup(within, speaker, last)) ?? { to: 'user', by: 'rule' }
    );
  }

  /** The session's own agent speaks. */
  private async speak(within: SessionContext, left: UnfinishedTurn | undefined): Promise<LoopEnd> {
    const { state } = within;
    const { conversation } = this.wired;
    for (let rest = left; ; rest = undefined) {
      const end = await new Promise<LoopEnd>((ended, failed) =>
        startLoop(within, conversation, rest, { ended, failed }),
      );
      if (end.kind !== 'completed' || state.handoff !== undefined || state.news.messages.length === 0)
        return end;
    }
  }

  /** Another agent speaks, until it has answered all that was said to it. */
  private async hear(within: SessionContext, name: string): Promise<LoopEnd> {
    const { context, inbox, works } = this.wired;
    const member = await this.opened(name);
    const leave = works.called.add(`${SPEAKER}${name}`, member.session);
    context.log.speaking = member;
    try {
      for (;;) {
        if (within.stop.reason !== undefined) return await this.halt(member);
        if (member.hasEnded) {
          this.members.delete(name);
          await member.outcome();
          return { kind: 'completed', result: member.state?.response?.text ?? null };
        }
        const waits = within.reviews.until((done) => {
          const deafen = inbox.onMessage(done);
          const forget = member.onMoved(done);
          return () => {
            deafen();
            forget();
          };
        });
        if (member.hasBegun) for (const message of this.toTell()) await member.tell(message);
        if (member.isDone(this.lastToTell()))
          return { kind: 'completed', result: member.state?.response?.text ?? null };
        await waits;
      }
    } finally {
      leave();
      context.log.speaking = undefined;
      if (context.stop.reason === undefined) works.reviews.moved();
    }
  }

  /** The exchange ends, or the whole session does, which `close` tells the agents. */
  private async halt(member: Member): Promise<LoopEnd> {
    const { stop } = this.wired.context;
    while (stop.reason === undefined && !member.hasEnded && member.state?.idle !== true) {
      member.session.breakOff();
      await stop.until((done) => member.onMoved(done));
    }
    return { kind: 'stopped' };
  }

  /** What the agent that speaks is to be told: the handoff, then the messages since. */
  private toTell(): readonly PendingMessage[] {
    const { thread } = this.state;
    if (thread === undefined) return [];
    const { seq, depth, text } = thread;
    return [{ seq, depth, from: 'user', text }, ...thread.pending];
  }

  private lastToTell(): number {
    return this.toTell().at(-1)?.seq ?? 0;
  }

  private async opened(name: string): Promise<Member> {
    const known = this.members.get(name);
    if (known !== undefined && !known.hasEnded) return known;
    const member = await openMember(
      childDepsOf(this.wired.works),
      this.agentNamed(name),
      await this.beginning(),
    );
    this.members.set(name, member);
    return member;
  }

  /** In a fork an agent begins anew: it is told all that was said. */
  private async beginning(): Promise<MembersBeginning> {
    const { thread, forkedAt = 0, seq } = this.state;
    const { log, deps } = this.wired.context;
    if (thread !== undefined && thread.seq > forkedAt) {
      const { text, seq: at, depth } = thread;
      return { text, seq: at, depth };
    }
    await log.flushed();
    const events = await readEvents(deps.runtime.store, this.state.id);
    const lines = linesOf(events, this.state.agent);
    const depth = (events.at(-1)?.cause.depth ?? 0) + 1;
    return { text: `What was said so far:\n${shownLines(lines)}`, seq, depth };
  }

  private async handOver(
    within: SessionContext,
    from: string,
    decision: SpeakerRulesDecision,
  ): Promise<void> {
    const { context } = this.wired;
    const { state, log, deps } = context;
    const { to, by, reason } = decision;
    if (to !== state.agent) this.agentNamed(to);
    await log.flushed();
    const since = unheardFrom(state, to);
    const lines = linesOf(await readEvents(deps.runtime.store, state.id, since), state.agent);
    const asked = decision.carry ?? context.manifest.group?.carry ?? 'messages';
    const summary =
      asked !== 'summary'
        ? undefined
        : (decision.summary ?? (await summarizeText(context, shownLines(lines))));
    // Without a summary the messages themselves go along.
    const carry = asked === 'summary' && summary === undefined ? 'messages' : asked;
    if (within.stop.reason !== undefined || isReleased(context.stop)) return;
    const said = from === state.agent ? undefined : this.members.get(from)?.lastCause;
    const cause = decision.cause ?? said ?? log.here();
    log.append(
      {
        type: 'handoff',
        from,
        to,
        by,
        carry,
        agent_session: to === state.agent ? state.id : speakerId(state, to),
        ...(reason === undefined ? {} : { reason }),
        text: toldText(lines, { from, reason, carry, summary, isBack: since > 1 }),
      },
      cause,
    );
    await log.flushed();
    deps.runtime.crashPoint?.(`handoff:${to}`);
  }

  /** An agent of the conversation: one that the first agent, or one that it leads to, names. */
  private agentNamed(name: string): LoadedAgent<unknown> {
    this.known ??= this.reachable();
    const found = this.known.get(name);
    if (found === undefined)
      throw new RuntimeError('unknown_agent', `No agent of this conversation is named "${name}".`, {
        hint: suggest(name, [...this.known.keys()], 'Agents'),
      });
    return found;
  }

  private reachable(): ReadonlyMap<string, LoadedAgent<unknown>> {
    const { prepared, runtime } = this.wired.context.deps;
    const known = new Map<string, LoadedAgent<unknown>>([[prepared.agent.manifest.name, prepared.agent]]);
    // A Map is walked in the order of insertion, with what is added on the way.
    for (const agent of known.values()) {
      const { handoff, group } = agent.manifest;
      const named = new Set([
        ...handoff.map((entry) => (typeof entry === 'string' ? entry : entry.to)),
        ...(group?.agents ?? []),
        ...(group?.on_message ?? []).map(({ to }) => to),
      ]);
      for (const each of runtime.shelf.callableBy(agent)) {
        const { name } = each.manifest;
        if (named.has(name) && !known.has(name) && !NOT_AGENTS.includes(name)) known.set(name, each);
      }
    }
    return known;
  }

  /** The sessions of the other agents end with this one. */
  async close(end: LoopEnd): Promise<void> {
    const { thread, agent } = this.state;
    const { store } = this.wired.context.deps.runtime;
    if (end.kind === 'completed') {
      for (const { agent: name } of thread?.members ?? []) {
        if (name === agent) continue;
        // In a fork, agents that have not spoken since have no session. After a crash, some may have ended.
        const goesOn = this.members.has(name) || isOpen(await store.info(speakerId(this.state, name)));
        if (goesOn) await (await this.opened(name)).finish();
      }
      return;
    }
    const why = end.kind === 'stopped' ? 'its conversation was stopped' : end.error.message;
    await Promise.all([...this.members.values()].map((member) => member.stop(why)));
  }
}

const isOpen = (info: StreamInfo | undefined): boolean => info !== undefined && info.status !== 'completed';

const tooMany = ({ thread, agent }: SessionState, limit: number) =>
  new RuntimeError(
    'limit_handoffs',
    `The conversation moved ${limit} times from one agent to another without an answer for the user: ${(
      thread?.spoken ?? [agent]
    ).join(' → ')}.`,
    {
      hint: 'Raise "limits: { handoffs }" of the first agent, or let an agent answer: an entry { to: user, always: true }, or another "if".',
    },
  );

/** Characters of a conversation that the next agent is told; of more, the beginning and the end. */
const MAX_TOLD = 32_768;

export interface ThreadLine {
  readonly who: string;
  readonly text: string;
}

/** Who said what, of events on the log of a conversation. */
function linesOf(events: readonly SessionEvent[], agent: string): readonly ThreadLine[] {
  return events.flatMap((event): readonly ThreadLine[] => {
    switch (event.type) {
      case 'session.started':
        return [{ who: PERSON, text: event.input }];
      case 'message.received':
        return event.from === 'user' || event.from === 'steer' ? [{ who: PERSON, text: event.text }] : [];
      case 'response':
        return event.final ? [{ who: agent, text: event.text }] : [];
      case 'child.response': {
        const speaker = speakerOf(event.action);
        return speaker !== undefined && event.event.final ? [{ who: speaker, text: event.event.text }] : [];
      }
      default:
        return [];
    }
  });
}

const PERSON = 'user';

/** Where on the log of the conversation begins what this agent has not heard: behind what it said last. */
function unheardFrom({ thread, agent, forkedAt = 0 }: SessionState, to: string): number {
  if (thread === undefined) return 1;
  if (to === agent) return thread.leftAt + 1;
  const left = thread.members.find((each) => each.agent === to)?.leftAt ?? 0;
  // What it heard before a fork, its new session has not heard.
  return left > forkedAt ? left + 1 : 1;
}

export interface Passing {
  readonly from: string;
  readonly reason: string | undefined;
  readonly carry: Carried;
  readonly summary: string | undefined;
  /** Whether the agent has spoken in this conversation before. */
  readonly isBack: boolean;
}

/** What the next agent is told. */
function toldText(lines: readonly ThreadLine[], { from, reason, carry, summary, isBack }: Passing): string {
  const because = reason === undefined ? '' : ` Why: ${reason}`;
  const opening = `You have the conversation${isBack ? ' again' : ''}: ${from} handed it to you.${because}`;
  const last = lines.findLast(({ who }) => who === PERSON);
  const lastWords = last === undefined ? '' : `The user said last:\n${last.text}`;
  if (carry === 'summary' && summary !== undefined)
    return joined([opening, `What was said${isBack ? ' meanwhile' : ''}, in short:\n${summary}`, lastWords]);
  if (carry === 'none') return joined([opening, lastWords]);
  const shown = shownLines(lines);
  return joined([opening, shown === '' ? '' : `What was said${isBack ? ' meanwhile' : ''}:\n${shown}`]);
}

const joined = (parts: readonly string[]): string => parts.filter((part) => part !== '').join('\n\n');

function shownLines(lines: readonly ThreadLine[]): string {
  const { head, tail, omitted } = cutText(
    lines.map(({ who, text }) => `${who}: ${text}`).join('\n'),
    MAX_TOLD,
  );
  return omitted === 0 ? head : `${head}\n… ${omitted} characters left out …\n${tail}`;
}
