import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';

type Value = {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
  readonly arrayValue?: { readonly values: readonly Value[] };
};
type Pairs = readonly { readonly key: string; readonly value: Value }[];

/** A span as it came over the wire, with its attributes as an object. */
export interface SunkSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly {
    readonly name: string;
    readonly attributes: Readonly<Record<string, unknown>>;
  }[];
  readonly links: readonly {
    readonly traceId: string;
    readonly spanId: string;
    readonly attributes: Readonly<Record<string, unknown>>;
  }[];
  readonly status: { readonly code?: number; readonly message?: string };
}

export interface SunkPoint {
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly value: number;
  readonly count?: number;
}

export interface Sink {
  readonly url: string;
  readonly spans: SunkSpan[];
  /** The metrics of the last request, by name. */
  metrics(): ReadonlyMap<
    string,
    { readonly temporality: number | undefined; readonly points: readonly SunkPoint[] }
  >;
  readonly requests: { readonly path: string; readonly headers: IncomingMessage['headers'] }[];
  readonly resources: Readonly<Record<string, unknown>>[];
  close(): Promise<void>;
}

export interface SinkOptions {
  /** In place of taking it. */
  readonly answer?: (response: ServerResponse) => void;
}

/** A collector over real HTTP, for OTLP as JSON. */
export async function openSink({ answer }: SinkOptions = {}): Promise<Sink> {
  const spans: SunkSpan[] = [];
  const requests: Sink['requests'] = [];
  const resources: Readonly<Record<string, unknown>>[] = [];
  let metrics: ReturnType<Sink['metrics']> = new Map();
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      requests.push({ path: request.url ?? '', headers: request.headers });
      if (answer !== undefined) return answer(response);
      const raw = Buffer.concat(chunks);
      const body = JSON.parse(
        (request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw).toString('utf8'),
      );
      for (const { resource, scopeSpans } of body.resourceSpans ?? []) {
        resources.push(plain(resource.attributes));
        for (const scope of scopeSpans) spans.push(...scope.spans.map(spanOf));
      }
      for (const { resource, scopeMetrics } of body.resourceMetrics ?? []) {
        resources.push(plain(resource.attributes));
        metrics = new Map(scopeMetrics.flatMap((scope: { metrics: never[] }) => scope.metrics.map(metricOf)));
      }
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    requests,
    resources,
    metrics: () => metrics,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

// biome-ignore lint/suspicious/noExplicitAny: what came over the wire
const spanOf = (span: any): SunkSpan => ({
  ...span,
  startMs: Number(BigInt(span.startTimeUnixNano) / 1_000n) / 1_000,
  endMs: Number(BigInt(span.endTimeUnixNano) / 1_000n) / 1_000,
  attributes: plain(span.attributes),
  events: span.events.map((event: { attributes: Pairs }) => ({
    ...event,
    attributes: plain(event.attributes),
  })),
  links: span.links.map((link: { attributes: Pairs }) => ({ ...link, attributes: plain(link.attributes) })),
});

// biome-ignore lint/suspicious/noExplicitAny: what came over the wire
const metricOf = (metric: any): [string, { temporality: number | undefined; points: SunkPoint[] }] => {
  const data = metric.sum ?? metric.histogram ?? metric.gauge;
  return [
    metric.name,
    {
      temporality: data.aggregationTemporality,
      // biome-ignore lint/suspicious/noExplicitAny: what came over the wire
      points: data.dataPoints.map((point: any) => ({
        attributes: plain(point.attributes),
        value: Number(point.asDouble ?? point.asInt ?? point.sum),
        ...(point.count === undefined ? {} : { count: Number(point.count) }),
      })),
    },
  ];
};

const plain = (pairs: Pairs): Record<string, unknown> =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, plainValue(value)]));

function plainValue({ stringValue, intValue, doubleValue, boolValue, arrayValue }: Value): unknown {
  if (arrayValue !== undefined) return arrayValue.values.map(plainValue);
  if (intValue !== undefined) return Number(intValue);
  return stringValue ?? doubleValue ?? boolValue;
}
