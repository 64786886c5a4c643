import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Followed } from '../../src/client/client.ts';
import { createCaller } from '../../src/client/client.ts';
import { createClient, follow } from '../../src/client/create-client.ts';
import { createSimulatedClock } from '../../src/lib/simulated-clock.ts';
import { eventually } from '../store/eventually.ts';

interface Numbered {
  readonly seq?: number;
  readonly type: string;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** A server that answers as it is told, one connection after the other; the last answer is for all that follow. */
async function serverThat(...answers: readonly Answer[]) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    (answers[requests.length - 1] ?? answers.at(-1))?.(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

/** Its connection breaks when the simulated clock says so, and stays open otherwise. */
async function following(answers: readonly Answer[], options: { after?: number; numbered?: boolean } = {}) {
  const { url, requests } = await serverThat(...answers);
  const clock = createSimulatedClock();
  const told: Followed<Numbered>[] = [];
  const stop = follow<Numbered>(
    { caller: createCaller({ url, token: 'secret' }), clock, random: () => 0.5 },
    {
      path: '/sessions/ses_1/events',
      after: 0,
      numbered: true,
      ...options,
      listener: (each) => told.push(each),
    },
  );
  onTestFinished(stop);
  const kinds = () =>
    told.map((each) => (each.kind === 'event' ? (each.event.seq ?? each.event.type) : each.kind));
  return {
    told,
    kinds,
    requests,
    clock,
    stop,
    until: (...wanted: readonly unknown[]) => eventually(() => expect(kinds()).toEqual(wanted)),
  };
}

const frame = (seq: number) => `id: ${seq}\ndata: ${JSON.stringify({ seq, type: 'text' })}\n\n`;
const live = 'data: {"type":"response.delta"}\n\n';
const END = 'event: end\ndata: {}\n\n';

const sends =
  (text: string, then: 'end' | 'break' | 'stay' = 'end'): Answer =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(text, () => {
      if (then === 'end') response.end();
      if (then === 'break') response.destroy();
    });
  };

const refuses =
  (status: number, code: string, headers: Record<string, string> = {}, retryable = false): Answer =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify({ error: { code, message: 'No.', hint: 'Do it.', retryable } }));
  };

/** The messages of what nobody caught, for as long as the test runs. */
function uncaught(): readonly string[] {
  const thrown: string[] = [];
  const others = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', ({ message }) => thrown.push(message));
  onTestFinished(() => {
    process.removeAllListeners('uncaughtException');
    for (const listener of others) process.on('uncaughtException', listener);
  });
  return thrown;
}

describe('a stream that is followed', () => {
  it('is told event by event, and its end', async () => {
    const { until, requests } = await following([
      sends(`retry: 1000\n\n: hi\n\n${frame(1)}${live}${frame(2)}${END}`),
    ]);
    await until('open', 1, 'response.delta', 2, 'end');
    expect(requests[0]?.headers).toMatchObject({
      accept: 'text/event-stream',
      authorization: 'Bearer secret',
    });
    expect(requests[0]?.headers).not.toHaveProperty('last-event-id');
  });

  it('comes back where it broke, without a gap and without a repeat', async () => {
    const { until, clock, requests } = await following([
      sends(`${frame(1)}${frame(2)}id: 3\ndata: {"se`, 'break'),
      sends(`${frame(2)}${frame(3)}${frame(4)}`),
      sends(`${frame(5)}${END}`),
    ]);
    await until('open', 1, 2, 'lost');
    await clock.advance(500);
    await until('open', 1, 2, 'lost', 'open', 3, 4, 'lost');
    await clock.advance(500);
    await until('open', 1, 2, 'lost', 'open', 3, 4, 'lost', 'open', 5, 'end');
    expect(requests.map(({ url, headers }) => [url, headers['last-event-id']])).toEqual([
      ['/sessions/ses_1/events?after=0', undefined],
      ['/sessions/ses_1/events?after=2', '2'],
      ['/sessions/ses_1/events?after=4', '4'],
    ]);
  });

  it('begins behind what is known, and says so', async () => {
    const { until, told } = await following([sends(`${frame(8)}${END}`)], { after: 7 });
    await until('open', 8, 'end');
    expect(told[0]).toEqual({ kind: 'open', after: 7 });
  });

  it('is asked for again where an event is missing, and none behind it is told', async () => {
    const { until, clock, told } = await following([
      sends(`${frame(1)}${frame(3)}`, 'stay'),
      sends(`${frame(2)}${frame(3)}${END}`),
    ]);
    await until('open', 1, 'lost');
    expect(told[2]).toMatchObject({
      error: { code: 'stream_broken', message: expect.stringContaining('missing') },
    });
    await clock.advance(1_000);
    await until('open', 1, 'lost', 'open', 2, 3, 'end');
  });

  it('is tried again later and later, as the server asks at first, and at most 15 s later', async () => {
    const { until, told, clock } = await following([sends('retry: 2000\n\n'), sends('')]);
    await until('open', 'lost');
    for (let n = 2; n <= 6; n++) {
      await clock.advance(15_000);
      await until(...Array.from({ length: n }, () => ['open', 'lost']).flat());
    }
    const pauses = told.flatMap((each) => (each.kind === 'lost' ? [each.retryInMs] : []));
    expect(pauses).toEqual([2_000, 4_000, 8_000, 15_000, 15_000, 15_000]);
  });

  it('is lost when nothing comes for 45 s, and not while the server says that it is there', async () => {
    let say: (text: string) => void = () => undefined;
    const { until, clock, told, kinds } = await following([
      (request, response) => {
        sends(frame(1), 'stay')(request, response);
        say = (text) => response.write(text);
      },
      sends(END),
    ]);
    await until('open', 1);
    await clock.advance(44_000);
    say(`: still here\n\n${live}`);
    await until('open', 1, 'response.delta');
    await clock.advance(44_000);
    expect(kinds()).toEqual(['open', 1, 'response.delta']);
    await clock.advance(1_000);
    await until('open', 1, 'response.delta', 'lost');
    expect(told[3]).toMatchObject({ error: { message: expect.stringContaining('45 s'), retryable: true } });
  });

  it('comes back at once when the server dropped it for being slow', async () => {
    const notice = 'event: notice\ndata: {"kind":"dropped","reason":"Too slow."}\n\n';
    const { until, told, clock } = await following([sends(`${frame(1)}${notice}`, 'stay'), sends(END)]);
    await until('open', 1, 'lost');
    expect(told[2]).toMatchObject({ retryInMs: 0, error: { message: expect.stringContaining('Too slow.') } });
    await clock.advance(0);
    await until('open', 1, 'lost', 'open', 'end');
  });

  it('is not asked for again where that would change nothing', async () => {
    const { until, told, requests } = await following([refuses(404, 'session_unknown')]);
    await until('lost', 'end');
    expect(told[0]).toEqual({
      kind: 'lost',
      retryInMs: Number.POSITIVE_INFINITY,
      error: { code: 'session_unknown', message: 'No.', hint: 'Do it.', retryable: false },
    });
    expect(requests).toHaveLength(1);
  });

  it('is asked for again when the server says, where it is busy', async () => {
    const { until, told, clock } = await following([
      refuses(429, 'rate_limited', { 'retry-after': '3' }),
      refuses(503, 'closing'),
      sends(END),
    ]);
    await until('lost');
    expect(told[0]).toMatchObject({ retryInMs: 3_000 });
    await clock.advance(3_000);
    await until('lost', 'lost');
    await clock.advance(15_000);
    await until('lost', 'lost', 'open', 'end');
  });

  it('is asked for again where the server closes, was too slow for the request, or says that it may go better', async () => {
    const closing = 'event: notice\ndata: {"kind":"closing"}\n\n';
    const { until, told, clock } = await following([
      sends(`${frame(1)}${closing}`, 'stay'),
      refuses(408, 'too_slow'),
      refuses(409, 'stream_owned', {}, true),
      refuses(500, 'internal', { 'retry-after': 'soon' }),
      sends(END),
    ]);
    await until('open', 1, 'lost');
    expect(told[2]).toMatchObject({
      retryInMs: 500,
      error: { message: 'The server is closing.', retryable: true },
    });
    for (const wanted of [2, 3, 4]) {
      await clock.advance(15_000);
      await until('open', 1, ...Array.from({ length: wanted }, () => 'lost'));
    }
    expect(told.at(-1)).toMatchObject({ retryInMs: 4_000, error: { code: 'internal' } });
    await clock.advance(15_000);
    await until('open', 1, 'lost', 'lost', 'lost', 'lost', 'open', 'end');
  });

  it('passes over notices that it does not know', async () => {
    const odd = 'event: notice\ndata: {"kind":"weather"}\n\nevent: notice\ndata: no json\n\n';
    const { until } = await following([sends(`${odd}${frame(1)}${END}`)]);
    await until('open', 1, 'end');
  });

  it('is asked for as its owner wants it: from where, and with what is live or without', async () => {
    const { url, requests } = await serverThat(sends(END));
    const client = createClient({ url });
    const ended = (follow: (listener: (told: { readonly kind: string }) => void) => () => void) =>
      new Promise<void>((resolve) => {
        const stop = follow(({ kind }) => kind === 'end' && resolve());
        onTestFinished(stop);
      });
    await ended((listener) => client.followSession('ses_1', listener));
    await ended((listener) => client.followSession('ses_1', listener, { after: 4, live: false }));
    await ended((listener) => client.followRun('run_1', listener, { live: false }));
    await ended((listener) => client.followAll(listener));
    expect(requests.map(({ url: path, headers }) => [path, headers['last-event-id']])).toEqual([
      ['/sessions/ses_1/events?after=0', undefined],
      ['/sessions/ses_1/events?live=0&after=4', '4'],
      ['/runs/run_1/events?live=0&after=0', undefined],
      ['/events', undefined],
    ]);
  });

  it('of a name that there cannot be is not asked for at all', async () => {
    const { url, requests } = await serverThat(sends(END));
    const told: Followed<Numbered>[] = [];
    onTestFinished(
      createClient({ url }).followSession('..', (each) => told.push(each as Followed<Numbered>)),
    );
    await eventually(() => expect(told.map(({ kind }) => kind)).toEqual(['lost', 'end']));
    expect(told[0]).toMatchObject({ error: { code: 'name_malformed' }, retryInMs: Number.POSITIVE_INFINITY });
    expect(requests).toEqual([]);
  });

  it('is over where the server has nothing more', async () => {
    const { until } = await following([(_request, response) => response.writeHead(204).end()], { after: 3 });
    await until('end');
  });

  it('tells nothing more once it was stopped, and leaves no connection', async () => {
    let closed = false;
    const { until, stop, kinds } = await following([
      (request, response) => {
        sends(frame(1), 'stay')(request, response);
        response.once('close', () => {
          closed = true;
        });
      },
    ]);
    await until('open', 1);
    stop();
    await eventually(() => expect(closed).toBe(true));
    expect(kinds()).toEqual(['open', 1]);
  });

  it('goes on where a listener throws, which is uncaught and counts for no break of the connection', async () => {
    const thrown = uncaught();
    const { url, requests } = await serverThat(sends(`${frame(1)}${frame(2)}`), sends(`${frame(3)}${END}`));
    const clock = createSimulatedClock();
    const kinds: unknown[] = [];
    const stop = follow<Numbered>(
      { caller: createCaller({ url }), clock, random: () => 0.5 },
      {
        path: '/sessions/ses_1/events',
        after: 0,
        numbered: true,
        listener(told) {
          const kind = told.kind === 'event' ? told.event.seq : told.kind;
          kinds.push(kind);
          throw new Error(`at ${kind}`);
        },
      },
    );
    onTestFinished(stop);
    await eventually(() => expect(kinds).toEqual(['open', 1, 2, 'lost']));
    await clock.advance(500);
    await eventually(() => expect(kinds).toEqual(['open', 1, 2, 'lost', 'open', 3, 'end']));
    expect(requests).toHaveLength(2);
    await eventually(() => expect(thrown).toEqual(kinds.map((kind) => `at ${kind}`)));
  });

  it('survives whatever else a server sends', async () => {
    const { until, told, clock } = await following([
      sends('data: no json\n\n', 'stay'),
      sends('<html>', 'end'),
      (_request, response) => response.writeHead(502).end('<html>bad gateway</html>'),
      sends(`id: 1\ndata: {"seq":1,"type":"text"}\r\r${END}`),
    ]);
    await until('open', 'lost');
    expect(told[1]).toMatchObject({ error: { message: expect.stringContaining('no json') } });
    await clock.advance(15_000);
    await until('open', 'lost', 'open', 'lost');
    await clock.advance(15_000);
    await until('open', 'lost', 'open', 'lost', 'lost');
    expect(told[4]).toMatchObject({ error: { code: 'answer_unreadable' } });
    await clock.advance(15_000);
    await until('open', 'lost', 'open', 'lost', 'lost', 'open', 1, 'end');
  });

  it('of all headlines is open once the server says that none is missed from there on', async () => {
    const ready = 'event: notice\ndata: {"kind":"ready"}\n\n';
    const headline = 'data: {"seq":7,"type":"session.started"}\n\n';
    const { until, requests } = await following([sends(`${ready}${headline}${headline}`, 'stay')], {
      numbered: false,
    });
    await until('open', 7, 7);
    expect(requests[0]?.url).toBe('/sessions/ses_1/events');
  });
});

describe('a call', () => {
  it("rejects with the server's own error", async () => {
    const { url } = await serverThat(refuses(409, 'stream_owned', {}, true));
    await expect(createClient({ url }).resumeSession('ses_1')).rejects.toMatchObject({
      name: 'RuntimeError',
      code: 'stream_owned',
      message: 'No.',
      hint: 'Do it.',
      retryable: true,
    });
  });

  it('says what is wrong where there is no server, or another one', async () => {
    const nobody = createClient({ url: 'http://127.0.0.1:9' });
    await expect(nobody.agents()).rejects.toMatchObject({ code: 'server_unreachable', retryable: true });
    const { url } = await serverThat((_request, response) => response.end('<html>'));
    await expect(createClient({ url }).agents()).rejects.toMatchObject({ code: 'answer_unreadable' });
    expect(() => createClient()).toThrow(expect.objectContaining({ code: 'bad_option' }));
    await expect(createClient({ url }).session('..')).rejects.toMatchObject({ code: 'name_malformed' });
  });

  it('is broken off by its signal, with its reason', async () => {
    const { url, requests } = await serverThat(() => undefined);
    const abort = new AbortController();
    const call = createClient({ url }).agents({ signal: abort.signal });
    await eventually(() => expect(requests).toHaveLength(1));
    abort.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
  });

  it('sends its key, its token and its names as they are', async () => {
    const { url, requests } = await serverThat((_request, response) => response.end('{}'));
    const client = createClient({ url: `${url}/`, token: 't' });
    await client.startSession({ agent: 'a', input: 'x' }, { idempotencyKey: 'k1' });
    await client.artifact('a/b?c');
    await client.sessions({ status: ['running', 'waiting'], limit: 5 });
    expect(requests.map(({ url: path }) => path)).toEqual([
      '/sessions',
      '/artifacts/a%2Fb%3Fc',
      '/sessions?status=running%2Cwaiting&limit=5',
    ]);
    expect(requests[0]?.headers).toMatchObject({ 'idempotency-key': 'k1', authorization: 'Bearer t' });
  });
});
