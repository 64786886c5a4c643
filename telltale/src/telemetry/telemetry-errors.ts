import { RuntimeError } from '../kernel/runtime-error.ts';

/** A variable whose value says nothing that can be done. */
export const settingUnknown = (name: string, value: string, known: readonly string[]) =>
  new RuntimeError('telemetry_setting', `${name} is "${value}", which is nothing that telemetry knows.`, {
    hint: `Known are: ${known.join(', ')}.`,
  });

export const settingNoUrl = (name: string, value: string) =>
  new RuntimeError('telemetry_setting', `${name} is "${value}", which is no http or https address.`, {
    hint: 'Write the address of the collector: http://localhost:4318',
  });

export const protocolUnsupported = (signal: string, protocol: string) =>
  new RuntimeError('telemetry_protocol', `No ${signal} are sent: ${protocol} is not spoken here.`, {
    hint: 'Set OTEL_EXPORTER_OTLP_PROTOCOL=http/json, and the endpoint to the collector’s port for HTTP (4318).',
  });

/** Said once: the collector answers to both on the same address. */
export const sentAsJson = () =>
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
    hint: 'Are the @opentelemetry packages installed? Install telltale anew.',
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
