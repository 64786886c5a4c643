import type { RuntimeError } from '../../kernel/runtime-error.ts';
import { printable } from '../../manifest/printable.ts';
import type { Runtime } from '../../session/runtime-types.ts';
import { paletteFor } from '../colour.ts';
import type { Io } from '../io.ts';
import { packageVersion } from '../version.ts';

/** Any of these asks for spans or metrics; what exactly is read by `readSettings`. */
const ASKS = [
  'OTEL_EXPORTER_OTLP_ENDPOINT',
  'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
  'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
  'OTEL_TRACES_EXPORTER',
  'OTEL_METRICS_EXPORTER',
];

/**
 * The runtime, with spans and metrics of all it works on sent where the OTEL_ variables ask for it; nothing is loaded
 * where they do not. Closing it sends the rest, for two seconds at the most, and says then what could not be sent: a line
 * in the middle would go through the view of the run.
 */
export async function exportTelemetry(runtime: Runtime, io: Io): Promise<Runtime> {
  if (!ASKS.some((name) => io.env[name])) return runtime;
  const [{ createTelemetry }, { readAnyEvent }, { openAmong }] = await Promise.all([
    import('../../telemetry/create-telemetry.ts'),
    import('../../session/log/read-log.ts'),
    import('../../session/reviews/review-table.ts'),
  ]);
  const problems: RuntimeError[] = [];
  const telemetry = createTelemetry({
    env: io.env,
    version: packageVersion(),
    clock: io.clock,
    onError: (error) => problems.push(error),
    recall: (stream) => readAnyEvent(runtime.store, stream, 1),
    stillOpen: (reviews) => openAmong(runtime.store, reviews),
  });
  runtime.watch(telemetry.observe);
  const close = async () => {
    try {
      await runtime.close();
    } finally {
      await telemetry.close();
      const { cyan, yellow } = paletteFor(io.stderr);
      for (const { message, hint = '' } of problems)
        await io.stderr.write(
          `${yellow('warning')}: ${printable(message)}\n  ${cyan('→')} ${printable(hint)}\n`,
        );
    }
  };
  return { ...runtime, close };
}
