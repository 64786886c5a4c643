import type { SessionEvent } from '../../../../../telltale/src/log/event.ts';
import { type SpeakerEvent, speakerEventOf } from '../../../../../telltale/src/log/fold-handoffs.ts';
import { describeEvent } from './event-clause.ts';
import type { LiveSpeech } from './live-speech.ts';
import { isInterruption } from './note-turn.ts';
import type { NoteTone, StreamItem } from './stream-items.ts';
import type { Waterfall } from './waterfall.ts';

/** The conversation of a session, over the whole log. */
export interface Stream {
  /** Call it after the waterfall's `add`, because it uses the rows. */
  add(event: SessionEvent): void;
  readonly items: readonly StreamItem[];
  /** Where a closing thought of that depth goes: before what is inside it. */
  placeOfThought(depth: number, turn: number): number;
}

export function createStream(waterfall: Waterfall): Stream {
  const items: StreamItem[] = [];
  /** By depth. Items before this position belong to a closed thought. */
  let claimed: number[] = [];

  /**
   * A thought is logged when it closes, after the actions and thoughts inside it. It is shown before them, where it
   * began.
   */
  const placeOfThought = (depth: number, turn: number): number => {
    let least = 0;
    for (let outer = 0; outer <= depth; outer++) least = Math.max(least, claimed[outer] ?? 0);
    let place = items.length;
    for (let at = items.length - 1; at >= least; at--) {
      const item = items[at];
      if (item === undefined || item.turn !== turn || item.kind === 'turn') break;
      if (item.kind === 'response' || item.kind === 'text') break;
      if (item.kind === 'thought') {
        if (item.depth <= depth) break;
        place = at;
      } else if (item.kind === 'action') {
        if (item.row.action.in !== 'thought') break;
        place = at;
      }
    }
    return place;
  };

  return {
    add(event) {
      const item = itemOf(event, waterfall);
      if (item === undefined) return;
      if (item.kind !== 'thought' || speakerEventOf(event) !== undefined) {
        items.push(item);
        return;
      }
      items.splice(placeOfThought(item.depth, item.turn), 0, item);
      claimed = claimed.slice(0, item.depth);
      claimed[item.depth] = items.length;
    },
    items,
    placeOfThought,
  };
}

/** The items up to an event. Returns `items` itself if that is all of them. */
export function itemsUntil(items: readonly StreamItem[], seq: number): readonly StreamItem[] {
  let isWhole = true;
  for (let at = items.length - 1; at >= 0; at--)
    if ((items[at]?.seq ?? 0) > seq) {
      isWhole = false;
      break;
    }
  return isWhole ? items : items.filter((item) => item.seq <= seq);
}

/** Items from `first` on, with live elements at the positions that they will have. */
export function withLive(
  { items, placeOfThought }: Stream,
  { turn, thoughts, response, speaker }: LiveSpeech,
  { first, at }: { readonly first: number; readonly at: number },
): readonly StreamItem[] {
  const all = items.slice(first);
  let before = 0;
  for (const { depth, text } of thoughts) {
    if (text.trim() === '') continue;
    const place =
      speaker === undefined ? Math.max(0, placeOfThought(depth, turn) - first) + before : all.length;
    all.splice(place, 0, { kind: 'thought', seq: 0, at, turn, depth, text, open: true });
    before++;
  }
  if (response.trim() !== '')
    all.push({ kind: 'response', seq: 0, at, turn, text: response, final: 'open', ...saidBy(speaker) });
  return all;
}

/** The item that an event adds to the conversation. Undefined if it only changes an existing one. */
function itemOf(event: SessionEvent, waterfall: Waterfall): StreamItem | undefined {
  const of = speakerEventOf(event);
  return of === undefined ? ownItemOf(event, waterfall) : speakerItemOf(event, of);
}

/** An event of an agent that the conversation moved to. Its turns and actions are on its own session's page. */
function speakerItemOf(copy: SessionEvent, { speaker, event }: SpeakerEvent): StreamItem | undefined {
  const { seq, at, turn } = copy;
  const place = { seq, at, turn };
  const note = (tone: NoteTone): StreamItem => ({ ...place, kind: 'note', tone, text: describeEvent(copy) });
  switch (event.type) {
    case 'response':
      return { ...place, kind: 'response', text: event.text, final: event.final, speaker };
    case 'thought':
      return { ...place, kind: 'thought', text: event.text, depth: event.depth };
    case 'action.completed':
    case 'review.resolved':
      return note('plain');
    case 'action.failed':
    case 'turn.failed':
      return note('fail');
    case 'review.requested':
    case 'session.waiting':
      return note('wait');
    default:
      return undefined;
  }
}

const saidBy = (speaker: string | undefined): { readonly speaker?: string } =>
  speaker === undefined ? {} : { speaker };

function ownItemOf(event: SessionEvent, waterfall: Waterfall): StreamItem | undefined {
  const { seq, at, turn } = event;
  const place = { seq, at, turn };
  const note = (tone: NoteTone): StreamItem => ({ ...place, kind: 'note', tone, text: describeEvent(event) });
  switch (event.type) {
    case 'session.started':
      return {
        ...place,
        kind: 'message',
        text: event.input,
        from: event.parent === undefined || event.led === true ? 'user' : 'parent',
      };
    case 'message.received':
      return { ...place, kind: 'message', from: event.from, text: event.text };
    case 'turn.started': {
      const row = waterfall.turns.at(-1);
      return row === undefined ? undefined : { ...place, kind: 'turn', row };
    }
    case 'thought':
      return { ...place, kind: 'thought', depth: event.depth, text: event.text };
    case 'text':
      return event.text.trim() === '' ? undefined : { ...place, kind: 'text', text: event.text };
    case 'response':
      return { ...place, kind: 'response', text: event.text, final: event.final };
    case 'handoff':
      return note('plain');
    case 'action.declared': {
      const row = waterfall.action(event.action.id);
      const depth = event.action.in === undefined ? 0 : 1;
      return row === undefined ? undefined : { ...place, kind: 'action', row, depth };
    }
    case 'metadata.changed':
      return Object.keys(event.changes).length === 0
        ? undefined
        : { ...place, kind: 'metadata', changes: event.changes, by: event.by };
    case 'metadata.rejected':
      return { ...place, kind: 'rejected', errors: event.errors };
    case 'fault':
      return { ...place, kind: 'fault', code: event.code, message: event.message };
    case 'trigger.fired': {
      const row = waterfall.run(event.run);
      return row === undefined ? undefined : { ...place, kind: 'run', row };
    }
    case 'workflow.completed':
    case 'workflow.failed':
    case 'workflow.cancelled': {
      const row = waterfall.run(event.run);
      return row === undefined ? undefined : { ...place, kind: 'run-end', row, told: event.told === true };
    }
    case 'review.requested': {
      const { review, action, what, target } = event;
      return { ...place, kind: 'review', review, action, what, target };
    }
    case 'session.completed':
      return { ...place, kind: 'end', tone: 'done', text: 'The session is complete.' };
    case 'session.failed':
      return { ...place, kind: 'end', tone: 'fail', text: 'The session failed.', error: event.error };
    case 'session.stalled':
      return { ...place, kind: 'end', tone: 'fail', text: 'The session stalled.', error: event.error };
    case 'session.cancelled':
      return { ...place, kind: 'end', tone: 'plain', text: describeEvent(event) };
    case 'turn.failed':
      if (isInterruption(event.error)) return note('plain');
      return { ...place, kind: 'note', tone: 'fail', text: describeEvent(event), error: event.error };
    case 'session.waiting':
      return note('wait');
    case 'feed.failed':
    case 'trigger.suppressed':
    case 'review.voided':
    case 'task.stuck':
      return note('warn');
    case 'hook.ran':
      return event.outcome === 'passed' ? undefined : note('warn');
    case 'invoke':
      return note(event.fallback === undefined ? 'plain' : 'warn');
    case 'session.resumed':
    case 'prompt.compacted':
    case 'artifact.written':
    case 'review.resolved':
    case 'task.given':
    case 'task.answered':
    case 'audit':
    case 'feed.added':
    case 'feed.removed':
      return note('plain');
    case 'if.decided':
      return event.problem === undefined ? undefined : note('warn');
    default:
      return undefined;
  }
}
