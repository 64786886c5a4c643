import { toRuntimeError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { DeclaredAction } from '../../log/action.ts';
import type { EventBody } from '../../log/event.ts';
import type { SessionState } from '../../log/state.ts';
import { asFeedCall, CONTEXT_FEED, feedOperationOf } from '../../parser/calls/call-names.ts';
import { notesMissing } from '../../parser/calls/read-call.ts';
import { createIdBook, isId, takeAutomaticId, takeId } from '../../parser/envelope/ids.ts';
import { type ForeignCall, findForeignCalls } from '../../parser/foreign-calls.ts';
import type { Target } from '../../tools/target.ts';
import type { SessionContext } from '../session-context.ts';
import type { TurnResult } from './active-turn.ts';
import { DIALECT_WORDS } from './dialect-words.ts';
import { preventedActions } from './groups.ts';

const MAX_SHOWN_CALLS = 8;
const MAX_SHOWN_PARAMETERS = 2_000;

/** A quick look: every form of a call has one of these. */
export const mayHoldCalls = (text: string): boolean => /[{<[(]|Action:/.test(text);

/**
 * Calls that a model wrote as text, in the form of another system. Text that looks like a call is never an answer. It
 * runs only where it can mean nothing else and does no harm: the turn is nothing but `text`, which is not in a code
 * block, and each call is known, valid, idempotent and needs no approval. So a page that says "reply exactly with …"
 * gets nothing done. Whether the text holds a call.
 */
export async function actOnCalls(context: SessionContext, text: string): Promise<boolean> {
  const found = await callsIn(context, text, context.state.news.short !== true);
  if (found === undefined) return false;
  tellOnce(context, 'foreign_call', found.message);
  const { state, scheduler, log, deps, earlier } = context;
  // After a restart some may be declared: a turn of nothing but text has declared nothing else.
  const declared = [...state.actions.values()].filter(({ turn }) => turn === state.turn).length;
  const book = createIdBook(new Set(), earlier);
  for (const [index, { id, name, parameters }] of found.run.entries()) {
    const own = id !== undefined && takeId(book, id) ? id : takeAutomaticId(book);
    const action = deps.prepared.toAction({ type: 'action', id: own, name, parameters }, []);
    if (action.ok && index >= declared) scheduler.declare(action.value, log.here());
  }
  if (found.run.length > declared) scheduler.turnEnded('well');
  return true;
}

/** The same where the turn holds something else, too: nothing of it runs. */
export async function tellOfCalls(context: SessionContext, { text }: TurnResult): Promise<boolean> {
  const found = await callsIn(context, text, false);
  if (found !== undefined) tellOnce(context, 'foreign_call', found.message);
  return found !== undefined;
}

interface CallsInText {
  /** What may run; empty where nothing may. */
  readonly run: readonly CallToRun[];
  /** For the model: what was seen, why nothing of it ran, and the right form. */
  readonly message: string;
}

interface CallToRun {
  readonly id?: string;
  readonly name: string;
  readonly parameters: JsonObject;
}

/** `isAll`: the turn holds nothing else but reasoning, and the provider ended it by a normal stop. */
async function callsIn(
  context: SessionContext,
  text: string,
  isAll: boolean,
): Promise<CallsInText | undefined> {
  if (!mayHoldCalls(text)) return undefined;
  const { services, calls: native } = context;
  const callable = services.callable().map(({ name }) => name);
  const isFeedName = callable.some((name) => feedOperationOf(name) !== undefined);
  const names = [...callable, ...(native?.style.names.natives ?? (isFeedName ? [CONTEXT_FEED] : [])), ...OWN];
  const { calls, alone, unreadable } = findForeignCalls(text, { names: new Set(names) });
  if (calls.length === 0) {
    if (!unreadable) return undefined;
    return { run: [], message: UNREADABLE + formOf(context, { name: 'NAME', parameters: {} }) };
  }
  const meant = calls.map((call) => meaningOf(context, call));
  const reasons = new Set<string>();
  if (!isAll || !alone) reasons.add('something else stood in the same turn');
  if (calls.some(({ fenced }) => fenced)) reasons.add('it stood in a code block');
  for (const reason of restrictions(context)) reasons.add(reason);
  for (const each of meant) {
    const reason = await whyNotRun(context, each);
    if (reason !== undefined) reasons.add(reason);
  }
  const forms = meant.slice(0, MAX_SHOWN_CALLS).map((each) => formOf(context, each.action ?? each.call));
  if (reasons.size > 0)
    return {
      run: [],
      message: `${NOT_RUN} (${[...reasons].join('; ')}). ${RIGHT_FORM}\n${forms.join('\n')}`,
    };
  const run = meant.map(({ call: { parameters, fields }, action }) => ({
    ...(typeof fields?.id === 'string' ? { id: fields.id } : {}),
    name: action?.name ?? '',
    parameters: action?.parameters ?? parameters,
  }));
  return { run, message: `${RUN}\n${forms.join('\n')}` };
}

/** Calls of the dialects themselves. */
const OWN = ['respond', 'set_metadata', 'step'];

const UNREADABLE =
  'Your turn held something like a call in the form of another system, which cannot be read. Nothing of it ran, and it is no answer. A call looks like this:\n';
const NOT_RUN =
  'Your turn held a call as plain text, in the form of another system. It is no answer, and nothing of it ran';
const RIGHT_FORM = 'If you want it done, make it like this:';
const RUN =
  'You wrote a call as plain text, in the form of another system. It ran this time, because it could mean nothing else. From now on make it like this:';

interface InTextMeaning {
  readonly call: ForeignCall;
  readonly action?: DeclaredAction;
  readonly target?: Target | undefined;
  readonly problem?: string;
}

function meaningOf({ deps, services, calls }: SessionContext, call: ForeignCall): InTextMeaning {
  const { parameters } = call;
  const target = calls?.style.names.find(call.name);
  const name = target?.name ?? call.name;
  const kind = target === undefined || target.kind === 'tool' ? {} : { kind: target.kind };
  const made = deps.prepared.toAction({ type: 'action', id: '', name, ...kind, parameters }, []);
  if (!made.ok) return { call, problem: made.error.message };
  const action = made.value;
  return {
    call,
    action,
    target: services.callable().find((each) => each.kind === action.kind && each.name === action.name),
  };
}

/** Why no call may run from the text of this session's turns. */
function restrictions({ manifest }: SessionContext): readonly string[] {
  return [
    ...(manifest.protocol.seal ? ['everything that acts needs a key in this session'] : []),
    ...(manifest.output === undefined ? [] : ['the answer is JSON in this session']),
  ];
}

async function whyNotRun(
  { services }: SessionContext,
  { call, action, target, problem }: InTextMeaning,
): Promise<string | undefined> {
  if (problem !== undefined) return sentence(problem);
  if (target === undefined || action === undefined)
    return OWN.includes(call.name) ? `"${call.name}" is no tool` : `nothing here is called "${call.name}"`;
  const { id, type = target.kind, ...more } = call.fields ?? {};
  const [field] = Object.keys(more);
  if (field !== undefined) return `it came with "${field}"`;
  if (type !== target.kind) return `"${target.name}" is of the type ${target.kind}`;
  if (id !== undefined && !(typeof id === 'string' && isId(id))) return 'its id is no id';
  const wrong = target.check(action.parameters);
  if (wrong !== undefined) return sentence(wrong.message);
  if (!(target.idempotentFor?.(action.parameters) ?? target.idempotent))
    return `"${target.name}" may change something`;
  try {
    const need = await target.needs?.(action.parameters, { agent: () => services.view() });
    return need === undefined ? undefined : `"${target.name}" needs an approval`;
  } catch (thrown) {
    return sentence(toRuntimeError(thrown).message);
  }
}

/** It may quote anything: nothing in it may read as a tag. */
const sentence = (message: string): string => message.replace(/\.$/, '').replaceAll('<', '&lt;');

/** How the session's dialect makes this call. */
function formOf(
  { manifest, calls }: SessionContext,
  action: Pick<DeclaredAction, 'name' | 'parameters'> & Partial<DeclaredAction>,
): string {
  const { kind } = action;
  const { name, parameters } = kind === 'internal' ? asFeedCall(action) : action;
  const input = JSON.stringify(parameters).replaceAll('<', '\\u003c'); // no value in it can end the tag
  const shown = input.length <= MAX_SHOWN_PARAMETERS ? input : '{ the same parameters }';
  if (manifest.dialect === 'tags') {
    const type = kind === undefined || kind === 'tool' ? '' : ` type="${kind}"`;
    return `<action${type} name="${name}">${shown}</action>`;
  }
  const native = calls?.style.names.natives.find((each) => {
    const target = calls.style.names.find(each);
    return target?.name === name && target.kind === kind;
  });
  return manifest.dialect === 'tools'
    ? `a native call of "${native ?? name}" with ${shown}`
    : `a call of "step" with "tool_calls": [{"name": ${JSON.stringify(native ?? name)}, "input": ${shown}}]`;
}

/** After a restart it may have been said before. */
export function tellOnce({ log, state }: SessionContext, code: string, message: string): void {
  if (!state.news.faults.some((fault) => fault.code === code)) log.append({ type: 'fault', code, message });
}

/** Tells a model whose last turn came to nothing that it did, and `next`. */
export function remind({ state, log }: SessionContext, running: readonly string[], next: string): void {
  if (state.idleTurns === 0 || running.length > 0) return;
  const { faults, rejected, messages } = state.news;
  const isInVain = rejected.length > 0 || preventedActions(faults).length > 0;
  const reminder = `${isInVain ? IN_VAIN : IDLE} ${next}`;
  const reminded = messages.some(({ text }) => text === reminder);
  if (!reminded) log.append({ type: 'message.received', from: 'runtime', text: reminder });
}

const IDLE = 'Your last turn brought no action, no metadata and no response.';
const IN_VAIN = 'Nothing in your last turn took effect: your mistakes say why.';

export const noTags = (
  { manifest }: SessionContext,
  text: string,
  led?: 'led',
): Extract<EventBody, { type: 'fault' }> => ({
  type: 'fault',
  code: 'no_tags',
  message:
    manifest.dialect === 'tags' && /^\s*(?:`{3}|~{3})/.test(text)
      ? 'Your whole turn stood in a code fence, where nothing is a tag. Write the tags outside of it.'
      : DIALECT_WORDS[manifest.dialect][led === undefined ? 'bare' : 'bareLed'],
});

/** Whether a step lacked its notes. The fault says all that there is to say of that. */
export const lacksNotes = ({ news }: SessionState): boolean =>
  news.faults.some(({ message }) => message === NOTES_MISSING);

const NOTES_MISSING = notesMissing().message;
