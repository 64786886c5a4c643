import { mkdtempSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import type { AgentDefinition } from '../../src/agent/define/define-agent.ts';
import { defineAgent } from '../../src/agent/define/define-agent.ts';
import type { LoadedAgent } from '../../src/agent/loaded-agent.ts';
import type { Runtime, SessionResult } from '../../src/agent/runtime-types.ts';
import { createRuntime } from '../../src/index.ts';
import type { EventOf, EventType, ObservedEvent, SessionEvent } from '../../src/log/event.ts';
import type { ModelObject } from '../../src/models/model-object.ts';
import { createProviderModel } from '../../src/models/providers/create-provider-model.ts';
import type { Dialect, Move } from '../lab/models/move.ts';
import { speak } from '../lab/models/speak.ts';
import { WIRES } from '../lab/models/stand-in.ts';
import type { Utterance } from '../lab/models/words.ts';
import { checkRequest, type WireName } from './check-request.ts';

export const FORMATS: readonly WireName[] = ['openai-chat', 'openai-responses', 'anthropic', 'google'];

/** How the provider answers one request: well, with a status and a body, or by a hand of its own. */
export type Answer =
  | { readonly say: Utterance; readonly input?: number; readonly output?: number }
  | { readonly move: Move; readonly input?: number; readonly output?: number }
  | { readonly status: number; readonly body: unknown; readonly type?: string }
  | ((response: ServerResponse, body: unknown) => void | Promise<void>);

export interface OverHttp {
  readonly format: WireName;
  readonly dialect: Dialect;
  /** One for each request, in order; a request too many is a failure of the test. */
  readonly answers: readonly Answer[];
  readonly agent?: Partial<AgentDefinition<undefined>>;
  readonly input?: string;
  /** What is said where a summary is asked for; that is none of the `answers`. */
  readonly summary?: string;
  /** Another model of the same provider. */
  readonly model?: string;
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: ObservedEvent) => void;
  /** Called once the session has ended, before its runtime is closed. */
  readonly after?: (runtime: Runtime, session: string, agent: LoadedAgent) => Promise<void>;
}

export interface RanOverHttp {
  readonly result: SessionResult<unknown>;
  readonly events: readonly SessionEvent[];
  readonly bodies: readonly unknown[];
  /** The requests as text. */
  readonly prompts: readonly string[];
  of<Type extends EventType>(type: Type): readonly EventOf<Type>[];
}

/** What providers count where a test does not say: about what it is. */
const usageOf = (body: unknown) => ({ input: Math.round(JSON.stringify(body).length / 4), output: 50 });

/** Runs an agent against a provider on loopback that speaks its real wire format. Every request has to be a good one. */
export async function runOverHttp(options: OverHttp): Promise<RanOverHttp> {
  const { format, dialect, answers, agent: more = {}, input = 'Do it.' } = options;
  const wire = WIRES[format];
  const bodies: unknown[] = [];
  const problems: string[] = [];
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body: unknown = JSON.parse(await readAll(request));
    if (options.summary !== undefined && JSON.stringify(body).includes('You write the summary by which')) {
      problems.push(...checkRequest(format, body).map((problem) => `a summary: ${problem}`));
      const said: Utterance = { parts: [{ type: 'text', text: options.summary }], finish: 'stop' };
      stream(response, wire.frames(said, usageOf(body)), false);
      return;
    }
    bodies.push(body);
    problems.push(...checkRequest(format, body).map((problem) => `request ${bodies.length}: ${problem}`));
    const answer = answers[bodies.length - 1];
    if (answer === undefined) problems.push(`request ${bodies.length} was not expected`);
    if (answer === undefined) response.writeHead(400).end('{"error":{"message":"not expected"}}');
    else if (typeof answer === 'function') await answer(response, body);
    else if ('status' in answer) {
      const { status, body: said, type = 'application/json' } = answer;
      response.writeHead(status, { 'content-type': type });
      response.end(typeof said === 'string' ? said : JSON.stringify(said));
    } else {
      const said = 'say' in answer ? answer.say : speak(answer.move, { dialect, turn: bodies.length });
      stream(response, wire.frames(said, { ...usageOf(body), ...answer }), said.finish === 'broken');
    }
  };
  const server = createServer((request, response) => {
    response.on('error', () => undefined); // the client may leave at any time
    respond(request, response).catch((thrown: unknown) => {
      problems.push(String(thrown));
      response.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const folder = mkdtempSync(join(tmpdir(), 'telltale-over-http-'));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  const asked = await askedAt(format, url, options.model);
  const agent = await defineAgent({ name: 'worker', model: asked.model, dialect, ...more }, { folder });
  const runtime = await createRuntime({ store: 'memory', cwd: folder, env: asked.env, random: () => 0 });
  try {
    const { signal, onEvent } = options;
    const session = runtime.start(agent, { input, ...(signal === undefined ? {} : { signal }) });
    if (onEvent !== undefined) session.subscribe(onEvent);
    const result = await session.result;
    const events = await runtime.events(session.id);
    await options.after?.(runtime, session.id, agent);
    if (problems.length > 0) throw new Error(`The provider would have refused:\n${problems.join('\n')}`);
    return {
      result,
      events,
      bodies,
      prompts: bodies.map((body) => JSON.stringify(body)),
      of: (type) => events.filter((event) => event.type === type) as never,
    };
  } finally {
    await runtime.close();
    server.close();
    server.closeAllConnections();
  }
}

export function stream(response: ServerResponse, frames: readonly string[], isBroken = false): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const frame of frames) response.write(frame);
  if (isBroken) setImmediate(() => response.destroy());
  else response.end();
}

/** What holds the characters of a text or of a call's input. */
const DELTAS: Readonly<Record<WireName, RegExp>> = {
  'openai-chat': /"(content|arguments)":"((?:[^"\\]|\\.)+)"/,
  'openai-responses': /"(delta)":"((?:[^"\\]|\\.)+)"/,
  anthropic: /"(text|partial_json)":"((?:[^"\\]|\\.)+)"/,
  google: /"(text)":"((?:[^"\\]|\\.)+)"/,
};

/** The same answer with a frame for each character, as some local servers send it. */
export function* inTinyDeltas(format: WireName, frames: readonly string[]): Generator<string> {
  for (const frame of frames) {
    const found = DELTAS[format].exec(frame);
    if (found === null || /output_item|arguments\.done|functionCall/.test(frame)) yield frame;
    else {
      const [whole, key, value] = found;
      for (const character of JSON.parse(`"${value}"`) as string)
        yield frame.replace(whole, () => `"${key}":${JSON.stringify(character)}`);
    }
  }
}

async function askedAt(
  format: WireName,
  url: string,
  model?: string,
): Promise<{ readonly model: string | ModelObject; readonly env: Record<string, string> }> {
  switch (format) {
    case 'openai-chat':
      return {
        model: `openai-compatible/${model ?? 'local'}`,
        env: { OPENAI_COMPATIBLE_BASE_URL: url },
      };
    case 'openai-responses':
      // A gateway is asked for chat completions: what goes to OpenAI's own address is sent elsewhere.
      return {
        model: await createProviderModel(`openai/${model ?? 'gpt-4o'}`, {
          env: { OPENAI_API_KEY: 'sk-x' },
          fetch: (input, init) => fetch(String(input).replace('https://api.openai.com/v1', url), init),
        }),
        env: {},
      };
    case 'anthropic':
      return {
        model: `anthropic/${model ?? 'claude-sonnet-4-5'}`,
        env: { ANTHROPIC_API_KEY: 'sk-x', ANTHROPIC_BASE_URL: url },
      };
    case 'google':
      return {
        model: `google/${model ?? 'gemini-2.5-flash'}`,
        env: { GOOGLE_GENERATIVE_AI_API_KEY: 'sk-x', GOOGLE_GENERATIVE_AI_BASE_URL: url },
      };
  }
}
