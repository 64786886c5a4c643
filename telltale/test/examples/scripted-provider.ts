import { FRAME_BREAK, FRAME_MARK, openFrame, readTurnParts } from '../../src/lib/calls.ts';
import { ANTHROPIC_CALLS, type CallWireFormat, OPENAI_CALLS } from '../models/call-wire-formats.ts';
import { type SeenRequest, sse, startProviderServer } from '../models/provider-server.ts';
import { ANTHROPIC, OPENAI, type WireFormat } from '../models/wire-formats.ts';

/** A provider as far as this goes: how it streams text, and how it streams calls. */
export interface Provider {
  readonly name: string;
  readonly text: WireFormat;
  readonly calls: CallWireFormat;
}

export const PROVIDERS: readonly Provider[] = [
  { name: 'OpenAI', text: OPENAI, calls: OPENAI_CALLS },
  { name: 'Anthropic', text: ANTHROPIC, calls: ANTHROPIC_CALLS },
];

/** Where an answer stops until `until` has come. */
export interface Hold {
  /** Counts from 1. */
  readonly turn: number;
  /** Characters of the turn that go out before it. */
  readonly at: number;
  readonly until: Promise<void>;
}

export interface ScriptedProvider {
  readonly ref: string;
  readonly env: Readonly<Record<string, string>>;
  readonly requests: readonly SeenRequest[];
  /** How many answers have been given whole. */
  readonly given: () => number;
  readonly close: () => Promise<void>;
}

/** A server that says the turns of a script, one for each request, in the words of a provider. */
export async function serveScript(
  { text, calls }: Provider,
  turns: readonly string[],
  hold: Hold,
): Promise<ScriptedProvider> {
  const server = await startProviderServer();
  let given = 0;
  server.answer = async (response) => {
    const number = server.requests.length;
    const turn = turns[number - 1] ?? '';
    const at = hold.turn === number ? hold.at : turn.length;
    const { before, behind } = turn.includes(FRAME_MARK)
      ? callFrames(calls, turn, at)
      : textFrames(text, turn, at);
    sse(response, before);
    if (hold.turn === number) await hold.until;
    for (const frame of behind) response.write(frame);
    response.end();
    given++;
  };
  return {
    ref: calls.ref,
    env: calls.env(server.url),
    requests: server.requests,
    given: () => given,
    close: server.close,
  };
}

/** What goes over the wire of a turn: up to a character of it, and behind that. */
interface Frames {
  readonly before: string[];
  readonly behind: string[];
}

const PIECE = 7;

/** `text` in pieces of a few characters, cut at `at`, too. */
function* piecesOf(text: string, at: number): Generator<{ readonly piece: string; readonly to: number }> {
  for (let from = 0; from < text.length; ) {
    const next = from + PIECE;
    const to = from < at && at < next ? at : Math.min(next, text.length);
    yield { piece: text.slice(from, to), to };
    from = to;
  }
}

function textFrames(wire: WireFormat, turn: string, at: number): Frames {
  const frames: Frames = { before: [...wire.start], behind: [] };
  for (const { piece, to } of piecesOf(turn, at))
    (to <= at ? frames.before : frames.behind).push(wire.delta(piece));
  frames.behind.push(...wire.end('stop'));
  return frames;
}

function callFrames(wire: CallWireFormat, turn: string, at: number): Frames {
  const frames: Frames = { before: [...wire.start], behind: [] };
  const put = (to: number, ...some: readonly string[]) =>
    (to <= at ? frames.before : frames.behind).push(...some);
  let offset = 0;
  let index = 0;
  for (const part of readTurnParts(turn)) {
    if (part.type === 'broken') throw new Error(`The script breaks off in a call of ${part.name}.`);
    if (part.type === 'text') {
      offset += part.text.length;
      put(offset, ...wire.text(part.text));
      continue;
    }
    const { id, name, input } = part;
    offset += openFrame(id, name).length;
    put(offset, ...wire.begin(index, id, name));
    for (const { piece, to } of piecesOf(input, at - offset)) put(offset + to, wire.delta(index, piece));
    offset += input.length + FRAME_MARK.length + FRAME_BREAK.length;
    put(offset, ...wire.done(index, id, name, input));
    index++;
  }
  frames.behind.push(...wire.end('calls'));
  return frames;
}

interface Answered {
  readonly calls: readonly string[];
  readonly answers: readonly string[];
}

interface Message {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly { readonly id: string }[];
  readonly tool_call_id?: string;
}

/** For each message of the model with calls in it: their ids, and the ids that the message behind it answers. */
export function answeredIn({ body }: SeenRequest): readonly Answered[] {
  const { messages } = JSON.parse(body) as { readonly messages: readonly Message[] };
  return messages.flatMap((message, at) => {
    if (message.role !== 'assistant') return [];
    const calls = [...(message.tool_calls ?? []), ...blocks(message, 'tool_use')].map(({ id }) => id ?? '');
    if (calls.length === 0) return [];
    const rest = messages.slice(at + 1);
    const end = rest.findIndex(({ role }) => role !== 'tool');
    const answers = [
      ...rest.slice(0, end === -1 ? rest.length : end).map(({ tool_call_id }) => tool_call_id ?? ''),
      ...(rest[0] === undefined
        ? []
        : blocks(rest[0], 'tool_result').map(({ tool_use_id }) => tool_use_id ?? '')),
    ];
    return [{ calls, answers }];
  });
}

interface Block {
  readonly type: string;
  readonly id?: string;
  readonly tool_use_id?: string;
}

const blocks = ({ content }: Message, type: string): readonly Block[] =>
  Array.isArray(content) ? (content as readonly Block[]).filter((block) => block.type === type) : [];
