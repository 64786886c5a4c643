import { RuntimeError } from '../lib/errors.ts';

export type SettingsEnv = Readonly<Record<string, string | undefined>>;

/** How one signal is sent. */
export interface SignalSettings {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly gzip: boolean;
}

export interface TelemetrySettings {
  readonly traces?: SignalSettings & {
    /** Share of the traces that are sent. */
    readonly ratio: number;
    readonly queue: { readonly max: number; readonly batch: number; readonly delayMs: number };
  };
  readonly metrics?: SignalSettings & {
    readonly intervalMs: number;
    readonly temporality: 'cumulative' | 'delta';
  };
  readonly resource: Readonly<Record<string, string>>;
  readonly contents: boolean;
  /** What is set and cannot be done, or is done otherwise. */
  readonly problems: readonly RuntimeError[];
}

const DEFAULT_ENDPOINT = 'http://localhost:4318';
const SERVICE = 'telltale';
/** Longer ones make no sense for what is sent every few seconds. */
const MAX_MS = 3_600_000;

/** The usual OTEL_ variables. A signal is on where an endpoint for it is set, or where its exporter is said to be `otlp`. */
export function readSettings(env: SettingsEnv): TelemetrySettings {
  const problems: RuntimeError[] = [];
  const contents = isTrue(textOf(env, 'OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT'));
  const resource = resourceOf(env);
  if (isTrue(textOf(env, 'OTEL_SDK_DISABLED'))) return { resource, contents, problems };
  const traces = signalOf(env, 'TRACES', 'v1/traces', problems);
  const metrics = signalOf(env, 'METRICS', 'v1/metrics', problems);
  const batch = numberOf(env, 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512);
  return {
    ...(traces === undefined
      ? {}
      : {
          traces: {
            ...traces,
            ratio: ratioOf(env, problems),
            queue: {
              max: Math.max(batch, numberOf(env, 'OTEL_BSP_MAX_QUEUE_SIZE', 2_048)),
              batch,
              delayMs: numberOf(env, 'OTEL_BSP_SCHEDULE_DELAY', 5_000),
            },
          },
        }),
    ...(metrics === undefined
      ? {}
      : {
          metrics: {
            ...metrics,
            intervalMs: numberOf(env, 'OTEL_METRIC_EXPORT_INTERVAL', 60_000),
            temporality: temporalityOf(env, problems),
          },
        }),
    resource,
    contents,
    problems,
  };
}

function signalOf(
  env: SettingsEnv,
  signal: 'TRACES' | 'METRICS',
  path: string,
  problems: RuntimeError[],
): SignalSettings | undefined {
  const of = (name: string) =>
    textOf(env, `OTEL_EXPORTER_OTLP_${signal}_${name}`) ?? textOf(env, `OTEL_EXPORTER_OTLP_${name}`);
  const exporters = textOf(env, `OTEL_${signal}_EXPORTER`)
    ?.split(',')
    .map((each) => each.trim());
  const known = signal === 'METRICS' ? ['otlp', 'prometheus', 'none'] : ['otlp', 'none'];
  for (const each of exporters ?? [])
    if (!known.includes(each)) problems.push(settingUnknown(`OTEL_${signal}_EXPORTER`, each, known));
  const own = textOf(env, `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`);
  const shared = textOf(env, 'OTEL_EXPORTER_OTLP_ENDPOINT');
  const isOn = exporters === undefined ? (own ?? shared) !== undefined : exporters.includes('otlp');
  if (!isOn) return undefined;
  const protocol = of('PROTOCOL') ?? 'http/json';
  if (protocol !== 'http/json' && protocol !== 'http/protobuf') {
    problems.push(protocolUnsupported(signal.toLowerCase(), protocol));
    return undefined;
  }
  if (protocol === 'http/protobuf' && !problems.some(({ code }) => code === 'telemetry_protocol'))
    problems.push(sentAsJson());
  const url = own ?? `${(shared ?? DEFAULT_ENDPOINT).replace(/\/$/, '')}/${path}`;
  if (!isHttp(url)) {
    const name = own === undefined ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`;
    problems.push(settingNoUrl(name, own ?? shared ?? ''));
    return undefined;
  }
  const compression = of('COMPRESSION') ?? 'none';
  if (compression !== 'gzip' && compression !== 'none')
    problems.push(settingUnknown('OTEL_EXPORTER_OTLP_COMPRESSION', compression, ['gzip', 'none']));
  return {
    url,
    headers: {
      ...pairsIn(textOf(env, 'OTEL_EXPORTER_OTLP_HEADERS')),
      ...pairsIn(textOf(env, `OTEL_EXPORTER_OTLP_${signal}_HEADERS`)),
    },
    timeoutMs: numberOf(
      env,
      `OTEL_EXPORTER_OTLP_${signal}_TIMEOUT`,
      numberOf(env, 'OTEL_EXPORTER_OTLP_TIMEOUT', 10_000),
    ),
    gzip: compression === 'gzip',
  };
}

const SAMPLERS = ['always_on', 'always_off', 'traceidratio'];

/** Nothing above a session or run decides for it, so that the `parentbased_` ones are what they are based on. */
function ratioOf(env: SettingsEnv, problems: RuntimeError[]): number {
  const asked = textOf(env, 'OTEL_TRACES_SAMPLER') ?? 'always_on';
  const sampler = asked.replace(/^parentbased_/, '');
  if (sampler === 'always_off') return 0;
  if (sampler === 'traceidratio') {
    const ratio = Number(textOf(env, 'OTEL_TRACES_SAMPLER_ARG') ?? '1');
    if (ratio >= 0 && ratio <= 1) return ratio;
    problems.push(settingUnknown('OTEL_TRACES_SAMPLER_ARG', env.OTEL_TRACES_SAMPLER_ARG ?? '', ['0 to 1']));
  } else if (sampler !== 'always_on') problems.push(settingUnknown('OTEL_TRACES_SAMPLER', asked, SAMPLERS));
  return 1;
}

function temporalityOf(env: SettingsEnv, problems: RuntimeError[]): 'cumulative' | 'delta' {
  const name = 'OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE';
  const asked = textOf(env, name)?.toLowerCase() ?? 'cumulative';
  if (asked === 'delta' || asked === 'lowmemory') return 'delta';
  if (asked !== 'cumulative')
    problems.push(settingUnknown(name, asked, ['cumulative', 'delta', 'lowmemory']));
  return 'cumulative';
}

function resourceOf(env: SettingsEnv): Readonly<Record<string, string>> {
  const given = pairsIn(textOf(env, 'OTEL_RESOURCE_ATTRIBUTES'));
  return { ...given, 'service.name': textOf(env, 'OTEL_SERVICE_NAME') ?? given['service.name'] ?? SERVICE };
}

/** `key=value,key=value`, percent-encoded; what is no pair is left out. */
function pairsIn(text: string | undefined): Record<string, string> {
  const pairs = (text ?? '').split(',').flatMap((pair): [string, string][] => {
    const at = pair.indexOf('=');
    const key = decoded(pair.slice(0, Math.max(0, at)).trim());
    return key === '' ? [] : [[key, decoded(pair.slice(at + 1).trim())]];
  });
  return Object.fromEntries(pairs);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // as it stands
  }
}

function isHttp(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}

/** An empty variable counts as one that is not set. */
const textOf = (env: SettingsEnv, name: string): string | undefined => env[name]?.trim() || undefined;

const isTrue = (text: string | undefined): boolean => text?.toLowerCase() === 'true';

/** What is no number above zero counts as not set, as the specification wants it. */
function numberOf(env: SettingsEnv, name: string, otherwise: number): number {
  const number = Number(textOf(env, name) ?? otherwise);
  return number > 0 ? Math.min(Math.ceil(number), MAX_MS) : otherwise;
}

/** A variable whose value says nothing that can be done. */
const settingUnknown = (name: string, value: string, known: readonly string[]) =>
  new RuntimeError('telemetry_setting', `${name} is "${value}", which is nothing that telemetry knows.`, {
    hint: `Known are: ${known.join(', ')}.`,
  });

const settingNoUrl = (name: string, value: string) =>
  new RuntimeError('telemetry_setting', `${name} is "${value}", which is no http or https address.`, {
    hint: 'Write the address of the collector: http://localhost:4318',
  });

const protocolUnsupported = (signal: string, protocol: string) =>
  new RuntimeError('telemetry_protocol', `No ${signal} are sent: ${protocol} is not spoken here.`, {
    hint: 'Set OTEL_EXPORTER_OTLP_PROTOCOL=http/json, and the endpoint to the collector’s port for HTTP (4318).',
  });

/** Said once: the collector answers to both on the same address. */
const sentAsJson = () =>
  new RuntimeError(
    'telemetry_protocol',
    'OTEL_EXPORTER_OTLP_PROTOCOL is http/protobuf; it is sent as http/json.',
    {
      hint: 'Collectors take both at the same address. Set it to http/json, or leave it out, to have this not said.',
    },
  );

export const notSent = (signal: string, url: string, cause: unknown) =>
  new RuntimeError('telemetry_unsent', `The ${signal} did not reach ${url} (${reasonOf(cause)}).`, {
    hint: 'Look whether the collector runs there. Nothing else is affected; what does not fit the queue is dropped.',
    retryable: true,
    cause,
  });

export const notFlushed = (ms: number) =>
  new RuntimeError('telemetry_unsent', `The last spans and metrics were not taken within ${ms / 1_000} s.`, {
    hint: 'Look whether the collector at OTEL_EXPORTER_OTLP_ENDPOINT is there and quick enough.',
    retryable: true,
  });

export const exporterBroken = (cause: unknown) =>
  new RuntimeError('telemetry_unsent', `Telemetry cannot be sent (${reasonOf(cause)}).`, {
    hint: 'Are the @opentelemetry packages installed? Install telltale again.',
    cause,
  });

/** An observer must harm nothing: it is said once. */
export const foldBroken = (cause: unknown) =>
  new RuntimeError('internal', `Telemetry could not make sense of an event (${reasonOf(cause)}).`, { cause });

/** The exporter's errors have the status in `code`, and the system's in `code` or in those of their parts. */
function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const { code, message, errors } = thrown as Error & { readonly code?: unknown; readonly errors?: unknown };
  const [first] = Array.isArray(errors) ? (errors as readonly unknown[]) : [];
  if (message === '' && first instanceof Error) return reasonOf(first);
  if (typeof code === 'number') return `status ${code}`;
  return message || String(code ?? thrown.name);
}
