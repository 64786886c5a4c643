import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { countTokens } from './count-tokens.ts';
import { type Manner, type Speech, speak, taskOf } from './policy.ts';
import { type ChatRequest, readConversation } from './wire.ts';

const FIRST_TOKEN_MS = 600;
const TOKENS_PER_SECOND = 60;

/** What the requests of one task came to. */
export interface Spent {
  requests: number;
  input: number;
  /** Of the input: what no earlier request of the same system began with. */
  uncached: number;
  output: number;
  /** Tokens of the system prompt and the tools' schemas in the first request. */
  fixed: number;
}

export interface Provider {
  readonly url: string;
  /** Since the last reset, by the id of the task. */
  readonly spent: ReadonlyMap<string, Spent>;
  /** What went wrong, such as a request that no policy understands. */
  readonly problems: readonly string[];
  reset(): void;
  close(): Promise<void>;
}

/**
 * A model provider on loopback that speaks OpenAI's chat completions: 600 ms to the first token, then 60 tokens a
 * second, counted with the o200k tokenizer. Its prompt cache holds every earlier request of this system, tools first and
 * then the messages, and serves the longest common prefix: exactly, without the minimum that real providers have.
 */
export async function startProvider(manner: Manner, speed: number): Promise<Provider> {
  const spent = new Map<string, Spent>();
  const problems: string[] = [];
  let cache: string[] = [];

  const account = (request: ChatRequest, task: string): { input: number; cached: number; spent: Spent } => {
    const system = request.messages.filter(({ role }) => role === 'system' || role === 'developer');
    const tools = request.tools === undefined ? '' : JSON.stringify(request.tools);
    const text = tools + JSON.stringify(request.messages);
    const input = countTokens(text);
    const cached = countTokens(
      text.slice(0, Math.max(0, ...cache.map((earlier) => commonPrefix(earlier, text)))),
    );
    cache.push(text);
    const fixed = countTokens(tools + JSON.stringify(system));
    const figures = spent.get(task) ?? { requests: 0, input: 0, uncached: 0, output: 0, fixed };
    spent.set(task, figures);
    figures.requests += 1;
    figures.input += input;
    figures.uncached += input - cached;
    return { input, cached, spent: figures };
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const started = performance.now();
    const body = JSON.parse(await textOf(request)) as ChatRequest;
    const conversation = readConversation(body);
    const task = taskOf(conversation.opening);
    const bill = account(body, task.partOf ?? task.id);
    const speech = speak(conversation, manner);
    const frames = framesOf(speech);
    const usage = {
      prompt_tokens: bill.input,
      completion_tokens: frames.length,
      total_tokens: bill.input + frames.length,
      prompt_tokens_details: { cached_tokens: bill.cached },
    };
    if (body.stream !== true) {
      await until(started + (FIRST_TOKEN_MS + (frames.length * 1000) / TOKENS_PER_SECOND) / speed);
      bill.spent.output += frames.length;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(wholeAnswer(speech, usage)));
      return;
    }
    response.setHeader('content-type', 'text/event-stream');
    const id = `chatcmpl-${randomUUID()}`;
    const send = (chunk: object) => response.write(`data: ${JSON.stringify({ id, ...CHUNK, ...chunk })}\n\n`);
    await until(started + FIRST_TOKEN_MS / speed);
    send({ choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] });
    for (const [index, delta] of frames.entries()) {
      await until(started + (FIRST_TOKEN_MS + (index * 1000) / TOKENS_PER_SECOND) / speed);
      if (response.destroyed) return;
      bill.spent.output += 1;
      send({ choices: [{ index: 0, delta, finish_reason: null }] });
    }
    send({ choices: [{ index: 0, delta: {}, finish_reason: finishOf(speech) }] });
    send({ choices: [], usage });
    response.end('data: [DONE]\n\n');
  };

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      problems.push(error instanceof Error ? error.message : String(error));
      if (!response.headersSent) response.statusCode = 400;
      response.end(JSON.stringify({ error: { message: String(error) } }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    spent,
    problems,
    reset() {
      spent.clear();
      cache = [];
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const CHUNK = { object: 'chat.completion.chunk', created: 0, model: 'bench' };

type Delta = { readonly content: string } | { readonly tool_calls: readonly object[] };

/** A frame for each token, as providers stream. What opens a call costs the tokens of its name. */
function framesOf({ text, calls }: Speech): readonly Delta[] {
  const frames: Delta[] = piecesOf(text).map((content) => ({ content }));
  for (const [index, { id, name, input }] of calls.entries()) {
    const opening = { index, id, type: 'function', function: { name, arguments: '' } };
    frames.push({ tool_calls: [opening] });
    const rest = [
      ...piecesOf(name)
        .slice(1)
        .map(() => ''),
      ...piecesOf(input),
    ];
    for (const piece of rest) frames.push({ tool_calls: [{ index, function: { arguments: piece } }] });
  }
  return frames;
}

function wholeAnswer({ text, calls }: Speech, usage: object): object {
  const tool_calls = calls.map(({ id, name, input }) => ({
    id,
    type: 'function',
    function: { name, arguments: input },
  }));
  const message = { role: 'assistant', content: text, ...(calls.length === 0 ? {} : { tool_calls }) };
  return {
    id: `chatcmpl-${randomUUID()}`,
    ...CHUNK,
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: finishOf({ text, calls }) }],
    usage,
  };
}

const finishOf = ({ calls }: Speech): string => (calls.length === 0 ? 'stop' : 'tool_calls');

/** A text in pieces of about one token each: their number is exact, where they are cut is not. */
function piecesOf(text: string): readonly string[] {
  const count = countTokens(text);
  const size = text.length / count;
  return Array.from({ length: count }, (_, index) =>
    text.slice(Math.round(index * size), Math.round((index + 1) * size)),
  );
}

function commonPrefix(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return at;
}

async function until(time: number): Promise<void> {
  const left = time - performance.now();
  if (left > 0) await new Promise((resolve) => setTimeout(resolve, left));
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
  return text;
}
