import { connect } from 'node:net';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { Session } from '../../../src/agent/runtime-types.ts';
import { createSimulatedClock } from '../../../src/lib/simulated-clock.ts';
import type { ObservedEvent } from '../../../src/log/event.ts';
import { statePatch } from '../../../src/server/protocols/ag-ui/create-ag-ui-fold.ts';
import { createIdleChats } from '../../../src/server/protocols/chats.ts';
import { createSpeechFold, type SpeechBeat } from '../../../src/server/protocols/exchange/fold-speech.ts';
import { createCompletionFold } from '../../../src/server/protocols/openai/create-completion-fold.ts';
import { createSseBody } from '../../../src/server/protocols/serve-exchange.ts';
import { call, final, gate, openStage, type Stage } from './protocol-stage.ts';

const session = 'ses_1';
const head = { seq: 1, at: 0, session, turn: 1, cause: { stream: session, seq: 0, depth: 0 } };
const turn = (number: number): ObservedEvent => ({
  ...head,
  turn: number,
  type: 'turn.started',
  prompt: { tokens: 1, reused_prefix: 0 },
});
const piece = (text: string, isFinal = true): ObservedEvent => ({
  type: 'response.delta',
  session,
  turn: 1,
  text,
  final: isFinal,
});
const whole = (text: string, isFinal: boolean): ObservedEvent => ({
  ...head,
  type: 'response',
  text,
  final: isFinal,
});
const thinking = (depth: number, text: string): ObservedEvent => ({
  type: 'thought.delta',
  session,
  turn: 1,
  depth,
  text,
});
const thought = (depth: number, text: string): ObservedEvent => ({ ...head, type: 'thought', depth, text });

/** What a client has at the end, and whether elements opened, grew and closed in order. */
function heard(beats: readonly SpeechBeat[]) {
  const open = new Set<string>();
  const texts = new Map<string, { voice: string; text: string; final: boolean }>();
  for (const beat of beats) {
    if (beat.kind === 'open') {
      expect(texts.has(beat.id)).toBe(false);
      open.add(beat.id);
      texts.set(beat.id, { voice: beat.voice, text: '', final: false });
      continue;
    }
    expect(open.has(beat.id)).toBe(true);
    const element = texts.get(beat.id);
    if (element === undefined) continue;
    if (beat.kind === 'text') element.text += beat.text;
    else {
      open.delete(beat.id);
      element.final = beat.final;
    }
  }
  expect(open.size).toBe(0);
  return [...texts.values()];
}
const fold = (events: readonly ObservedEvent[], joins = false) => {
  const speech = createSpeechFold(joins);
  return heard([...events.flatMap((event) => speech.take(event)), ...speech.end()]);
};

describe('speech', () => {
  const pieces = fc.array(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }), { maxLength: 12 });
  const event = fc.oneof(
    pieces.map((texts) => texts.map((text) => piece(text))),
    fc
      .tuple(pieces, fc.boolean())
      .map(([texts, isFinal]) => [...texts.map((text) => piece(text)), whole(texts.join(''), isFinal)]),
    fc
      .tuple(fc.nat(2), pieces)
      .map(([depth, texts]) => [
        ...texts.map((text) => thinking(depth, text)),
        thought(depth, texts.join('')),
      ]),
    fc.tuple(fc.nat(2), pieces).map(([depth, texts]) => texts.map((text) => thinking(depth, text))),
    fc.nat(9).map((number) => [turn(number + 2)]),
  );

  it('opens, grows and closes elements in order, and the last one is the final response to the letter', () => {
    fc.assert(
      fc.property(
        fc.array(event),
        fc.string(),
        fc.array(fc.boolean()),
        fc.boolean(),
        (events, answer, lost, joins) => {
          // Pieces of it may be lost; the event that holds all of it is not.
          const told = [...answer].map((text) => piece(text)).filter((_, at) => lost[at] !== true);
          const elements = fold([turn(1), ...events.flat(), turn(99), ...told, whole(answer, true)], joins);
          expect(
            elements.filter(({ final: isFinal, text }) => isFinal && text === answer).length,
          ).toBeGreaterThan(0);
          expect(elements.filter(({ voice }) => voice === 'response').at(-1)).toEqual({
            voice: 'response',
            text: answer,
            final: true,
          });
        },
      ),
    );
  });

  it('is told whole where its turn began before', () => {
    expect(fold([piece('half '), whole('whole, half ', true)], true)).toEqual([
      { voice: 'response', text: 'whole, half ', final: true },
    ]);
  });

  it('ends what a provider calls reasoning once the answer begins', () => {
    const speech = createSpeechFold();
    const beats = [turn(1), thinking(0, 'Hm.'), piece('So')].flatMap((each) => speech.take(each));
    expect(beats.map(({ kind, voice }) => `${kind} ${voice}`)).toEqual([
      'open thought',
      'text thought',
      'close thought',
      'open response',
      'text response',
    ]);
  });
});

describe('a completion', () => {
  it('that ends well has the final response as its content, whatever came before', () => {
    const step = fc.oneof(
      fc.string().map((text) => [piece(text), whole(text, false)]),
      fc.string().map((text) => [piece(text, false), whole(text, false)]),
      fc.string().map((text) => [piece(text)]),
      fc.constant([{ ...head, type: 'fault', code: 'x', message: '' } as ObservedEvent]),
      fc.constant([turn(2)]),
    );
    fc.assert(
      fc.property(fc.array(step), fc.string({ minLength: 1 }), (steps, answer) => {
        const completion = createCompletionFold({
          id: 'x',
          created: 1,
          model: 'm',
          includeUsage: false,
          checked: false,
        });
        const events = [
          ...steps.flat(),
          turn(3),
          ...[...answer].map((text) => piece(text)),
          whole(answer, true),
        ];
        const chunks = [
          ...completion.begin(),
          ...events.flatMap((each) => completion.take(each)),
          ...completion.end({ kind: 'answered', text: answer }),
        ];
        const content = chunks
          .map((chunk) => ('error' in chunk ? '' : (chunk.choices[0]?.delta.content ?? '')))
          .join('');
        const isRefused = chunks.some((chunk) => 'error' in chunk);
        if (!isRefused) expect(content).toBe(answer);
        else expect(answer.startsWith(content)).toBe(false);
      }),
    );
  });
});

describe('metadata as JSON Patch', () => {
  it('sets what is set, removes what is not, and escapes names', () => {
    const changes = {
      'a/b~c': { from: null, to: 1 },
      gone: { from: 2, to: null },
      never: { from: null, to: null },
    };
    expect(statePatch(changes)).toEqual([
      { op: 'add', path: '/a~1b~0c', value: 1 },
      { op: 'remove', path: '/gone' },
    ]);
  });
});

describe('a stream of server-sent events', () => {
  const bodyOf = (onGone: () => void, signal = new AbortController().signal) => {
    const clock = createSimulatedClock();
    return { clock, body: createSseBody({ clock, signal, cut: () => undefined, onGone }) };
  };
  const read = async (reader: ReadableStreamDefaultReader<Uint8Array>) =>
    new TextDecoder().decode((await reader.read()).value);

  it('is kept alive while nothing comes, and not after its end', async () => {
    const { clock, body } = bodyOf(() => undefined);
    const reader = body.stream.getReader();
    clock.advance(15_000);
    expect(await read(reader)).toBe(': keep-alive\n\n');
    body.send('1');
    body.end();
    expect(await read(reader)).toBe('data: 1\n\n');
    expect((await reader.read()).done).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it('waits for a client that does not read, and gives it all in one piece', async () => {
    const { body } = bodyOf(() => undefined);
    const reader = body.stream.getReader();
    const block = 'x'.repeat(100_000);
    body.send(block);
    body.send('a');
    body.send('b');
    body.end();
    expect((await read(reader)).length).toBe(block.length + 8);
    expect(await read(reader)).toBe('data: a\n\ndata: b\n\n');
    expect((await reader.read()).done).toBe(true);
  });

  it('cuts off a client that leaves too much unread, once', () => {
    let gone = 0;
    const { clock, body } = bodyOf(() => gone++);
    for (let at = 0; at < 60; at++) body.send('x'.repeat(100_000));
    expect(gone).toBe(1);
    expect(clock.pending).toBe(0);
    body.end();
  });

  it('is told of a client that was gone before it began', () => {
    let gone = 0;
    bodyOf(() => gone++, AbortSignal.abort());
    expect(gone).toBe(1);
  });
});

describe('chats that nobody talks to', () => {
  const chatOf = (id: string, idle = true) => {
    const made = { id, idle, letGo: false };
    const live = {
      id,
      result: new Promise(() => undefined),
      interrupt: async () => {
        made.letGo = true;
      },
    } as unknown as Session<unknown>; // nothing else of it is used
    return { made, live };
  };
  const open = (chats: readonly ReturnType<typeof chatOf>[]) => {
    const clock = createSimulatedClock();
    const state = async (id: string) => chats.find(({ made }) => made.id === id)?.made;
    return {
      clock,
      idle: createIdleChats({
        runtime: { state } as never,
        clock,
        onError: (thrown) => expect.unreachable(String(thrown)),
      }),
    };
  };

  it('are let go of after half an hour, unless somebody talks to them', async () => {
    const chats = [chatOf('quiet'), chatOf('taken'), chatOf('busy', false)];
    const { clock, idle } = open(chats);
    for (const { live } of chats) idle.add(live);
    idle.take('taken');
    clock.advance(30 * 60_000);
    await expect.poll(() => chats[0]?.made.letGo).toBe(true);
    expect(chats.map(({ made }) => made.letGo)).toEqual([true, false, false]);
  });

  it('are let go of, the longest idle first, where there are too many', async () => {
    const chats = Array.from({ length: 1_001 }, (_, at) => chatOf(`c${at}`));
    const { idle } = open(chats);
    for (const { live } of chats) idle.add(live);
    await expect.poll(() => chats[0]?.made.letGo).toBe(true);
    expect(chats.filter(({ made }) => made.letGo)).toHaveLength(1);
  });
});

describe('a client that stops reading', () => {
  let stage: Stage;
  afterEach(() => stage.close());

  it('is cut off without having read anything more, and the server goes on', async () => {
    // More than the system keeps for a socket on both sides, with what the server does.
    const large = gate('large');
    stage = await openStage({
      helper: { turns: [`${call('a1', 'large')}${final('$a1'.repeat(80))}`], tools: [large.tool] },
      other: { turns: [final('Hi.')] },
    });
    const message = { id: '1', role: 'user', parts: [{ type: 'text', text: 'Go.' }] };
    const body = JSON.stringify({ id: 'c1', messages: [message] });
    const socket = connect(Number(new URL(stage.url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(
      `POST /chat/helper HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${stage.token}\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    await new Promise((resolve) => socket.once('data', resolve));
    // It may be cut off while it is still looked at.
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.pause();
    large.open('y'.repeat(250_000));
    // All of it has been said, and the client has been waited for.
    await expect.poll(async () => stage.status(await stage.newest())).toBe('waiting');
    let bytes = 0;
    socket.on('data', (data) => {
      bytes += data.length;
    });
    socket.resume();
    await closed;
    expect(bytes).toBeLessThan(16_000_000);
    const hi = [{ role: 'user', content: 'Hi.' }];
    const answer = await stage.post('/v1/chat/completions', { model: 'other', messages: hi });
    expect(answer.status).toBe(200);
    expect(stage.strays).toEqual([]);
  });
});
