import {
  FRAME_BREAK,
  FRAME_MARK,
  frameOf,
  readFrameHead,
  readTurnParts,
  type ToolCall,
  withoutMarks,
} from '../../kernel/call-frames.ts';
import { isJsonObject } from '../../kernel/json.ts';
import type { ProviderPart } from '../../kernel/provider-part.ts';
import { asFeedCall } from '../../protocol/calls/feed-calls.ts';
import type { CallTarget } from '../../protocol/calls/meant-target.ts';
import type { ActionIntent } from '../../protocol/intents.ts';
import { strictJson } from '../../protocol/json/parse-value.ts';
import { readObject } from '../../protocol/json/read-object.ts';
import type { CallStyle } from './call-style.ts';
import type { TurnCall } from './read-turn-calls.ts';

/** What a model said in a turn, as its message in the conversation holds it. */
export interface AssistantMessage {
  readonly text: string;
  readonly parts?: readonly ProviderPart[] | undefined;
}

interface Said {
  readonly output: string;
  readonly parts?: readonly ProviderPart[] | undefined;
}

/**
 * A turn as it stands in the conversation: a call that broke off is text in it, since no provider takes half a call. A
 * call that was repaired stands there as it ran, and of one that was too large to be read only its size.
 */
export function assistantMessage(
  { output, parts }: Said,
  calls: readonly TurnCall[],
  style: CallStyle,
): AssistantMessage {
  if (!output.includes(FRAME_MARK)) return { text: output, parts };
  const meant = calls.values();
  let text = '';
  let at = 0;
  const moved: ProviderPart[] = [];
  for (const part of parts ?? []) {
    text += shownCalls(output.slice(at, part.at), meant, style);
    at = part.at;
    moved.push({ ...part, at: text.length });
  }
  text += shownCalls(output.slice(at), meant, style);
  return { text, parts: parts === undefined ? undefined : moved };
}

/** `calls` gives what each whole call meant, in order. */
function shownCalls(output: string, calls: Iterator<TurnCall>, style: CallStyle): string {
  let shown = '';
  let at = 0;
  for (let mark = output.indexOf(FRAME_MARK); mark !== -1; mark = output.indexOf(FRAME_MARK, at)) {
    const headEnd = output.indexOf(FRAME_BREAK, mark);
    const inputEnd = headEnd === -1 ? -1 : output.indexOf(FRAME_MARK, headEnd);
    const end = inputEnd === -1 ? -1 : output.indexOf(FRAME_BREAK, inputEnd);
    if (end === -1) return shown + output.slice(at, mark) + brokenCall(output, mark, headEnd);
    shown += output.slice(at, mark) + asItRan(output.slice(mark, end + 1), calls.next().value, style);
    at = end + 1;
  }
  return shown + output.slice(at);
}

function asItRan(frame: string, meant: TurnCall | undefined, style: CallStyle): string {
  const [call] = readTurnParts(frame);
  if (call?.type !== 'call') return frame;
  const action = meant?.events.find((event) => event.type === 'action');
  const { name, input } = asOffered(
    {
      name: nameItRanBy(call.name, action, style),
      input: inputItRanWith(call.input, style.maxBody),
    },
    action,
    style,
  );
  return name === call.name && input === call.input ? frame : frameOf({ ...call, name, input });
}

/** Logs of earlier versions have actions on feeds by names of their own, and a model may still call them so. */
function asOffered(
  call: { readonly name: string; readonly input: string },
  action: ActionIntent | undefined,
  style: CallStyle,
): typeof call {
  if (style.dialect !== 'tools' || action?.kind !== 'internal' || action.name === undefined) return call;
  const offered = asFeedCall({ name: action.name, parameters: {} });
  if (offered.name === action.name) return call;
  const input = strictJson(/\S/.test(call.input) ? call.input : '{}');
  if (!isJsonObject(input)) return call;
  return {
    name: nativeOf({ kind: 'internal', name: offered.name }, style) ?? call.name,
    input: JSON.stringify({ ...offered.parameters, ...input }),
  };
}

/** A name that no tool has may have been read as that of one. */
function nameItRanBy(name: string, action: ActionIntent | undefined, style: CallStyle): string {
  const { names, dialect } = style;
  const plain = names.plain(name);
  // A step is no call of the target that it calls.
  if (plain !== name || names.natives.includes(name) || dialect === 'step') return plain;
  return (action === undefined ? undefined : nativeOf(action, style)) ?? name;
}

const nativeOf = ({ kind, name }: Partial<CallTarget>, { names }: CallStyle): string | undefined =>
  names.natives.find((native) => {
    const target = names.find(native);
    return target !== undefined && target.kind === kind && target.name === name;
  });

function inputItRanWith(input: ToolCall['input'], maxBody: number): string {
  if (input.length > maxBody)
    return JSON.stringify({
      left_out: `${input.length} characters, more than the ${maxBody} that a call may have`,
    });
  if (!/\S/.test(input)) return input;
  const strict = strictJson(input);
  if (isJsonObject(strict)) return input;
  const value = readObject(input, strict);
  return typeof value === 'string' ? input : JSON.stringify(value);
}

function brokenCall(output: string, mark: number, headEnd: number): string {
  if (headEnd === -1) return '[a call that broke off]';
  const { name } = readFrameHead(output.slice(mark + 1, headEnd));
  return `[a call of ${name} that broke off: ${withoutMarks(output.slice(headEnd + 1))}]`;
}
