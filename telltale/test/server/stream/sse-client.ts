import { type ClientRequest, get, type IncomingMessage } from 'node:http';

/** A piece of an event stream, as a browser would read it. */
export interface Frame {
  readonly id?: number;
  /** `message` where the stream names no other. */
  readonly event: string;
  readonly data: string;
}

export interface SseClient {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** Everything that has come, whole frames only. */
  readonly frames: readonly Frame[];
  /** Characters that have come. */
  readonly received: number;
  /** Comments, without their colon. */
  readonly comments: readonly string[];
  /** Of the frames without a name. */
  events(): readonly ReceivedEvent[];
  /** Resolves once `holds`, looked at whenever something came. */
  until(holds: (client: SseClient) => boolean): Promise<void>;
  /** Resolves when the connection is over. */
  readonly ended: Promise<void>;
  /** Stops reading: what comes stays in the sockets. */
  pause(): void;
  resume(): void;
  abort(): void;
}

export interface ReceivedEvent {
  readonly type: string;
  readonly seq?: number;
  readonly [key: string]: unknown;
}

export async function connect(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<SseClient> {
  const { request, response } = await new Promise<{ request: ClientRequest; response: IncomingMessage }>(
    (resolve, reject) => {
      const sent: ClientRequest = get(url, { headers, agent: false }, (answer) =>
        resolve({ request: sent, response: answer }),
      );
      sent.on('error', reject);
    },
  );
  const frames: Frame[] = [];
  const comments: string[] = [];
  const waiting = new Set<() => void>();
  const look = () => {
    for (const check of [...waiting]) check();
  };
  let rest = '';
  let received = 0;
  let isOver = false;
  response.setEncoding('utf8');
  response.on('data', (text: string) => {
    received += text.length;
    rest += text;
    if (!text.includes('\n')) return look();
    const blocks = rest.split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      if (block.startsWith(':')) comments.push(block.slice(1).trim());
      else if (!block.startsWith('retry:')) frames.push(readFrame(block));
    }
    look();
  });
  response.on('error', () => undefined);
  const ended = new Promise<void>((resolve) => {
    response.on('close', () => {
      isOver = true;
      look();
      resolve();
    });
  });
  const client: SseClient = {
    status: response.statusCode ?? 0,
    headers: response.headers,
    frames,
    get received() {
      return received;
    },
    comments,
    events: () =>
      frames.flatMap(({ event, data }) => (event === 'message' ? [JSON.parse(data) as ReceivedEvent] : [])),
    until: (holds) =>
      new Promise((resolve, reject) => {
        const check = () => {
          if (holds(client)) resolve();
          else if (isOver)
            reject(new Error(`The stream ended after ${JSON.stringify(frames.slice(-5)).slice(0, 2_000)}.`));
          else return;
          waiting.delete(check);
        };
        waiting.add(check);
        check();
      }),
    ended,
    pause: () => response.pause(),
    resume: () => response.resume(),
    abort: () => request.destroy(),
  };
  return client;
}

function readFrame(block: string): Frame {
  const fields = Object.fromEntries(
    block.split('\n').map((line) => {
      const at = line.indexOf(': ');
      return [line.slice(0, at), line.slice(at + 2)];
    }),
  );
  const { id, event = 'message', data = '' } = fields;
  return { ...(id === undefined ? {} : { id: Number(id) }), event, data };
}
