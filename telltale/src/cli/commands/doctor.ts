import type { CommandContext, RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../command.ts';
import type { DoctorFinding } from '../doctor/checks.ts';
import type { Io } from '../io.ts';
import { paletteFor } from '../io.ts';
import { packageVersion } from '../program.ts';
import { startProgress } from '../progress.ts';
import { harmlessLine } from '../view/harmless.ts';
import { jsonText } from '../view/json-text.ts';

interface DoctorOptions {
  readonly online?: true;
  readonly json?: true;
}

const EXAMPLES = `
It never shows the values of keys, and contacts only providers whose key or address is set.
Something optional that is missing is a warning. Exits with 1 if something required is broken.

Examples:
  $ telltale doctor
  $ telltale doctor --online                       also contact providers without a key
  $ telltale doctor --json | jq '.checks[] | select(.status != "ok")'
`;

export const registerDoctor: RegisterCommand = (program, context) => {
  program
    .command('doctor')
    .summary('check your setup, and say how to fix it')
    .description('Checks Node, the store, keys and providers, the terminal, and optional programs.')
    .option('--online', 'contact all providers, also those without a key')
    .option('--json', 'print it as JSON')
    .addHelpText('after', EXAMPLES)
    .action(context.run((options: DoctorOptions) => doctor(options, context)));
};

async function doctor(options: DoctorOptions, context: CommandContext): Promise<ExitCode> {
  const { io, runtimes } = context;
  const stopProgress = startProgress(io, () => 'Checking your setup…');
  let findings: readonly DoctorFinding[];
  try {
    const [{ runChecks: examine }, { processMachine }] = await Promise.all([
      import('../doctor/checks.ts'),
      import('../doctor/checks.ts'),
    ]);
    findings = await examine({ io, runtimes, machine: processMachine(io), online: options.online === true });
  } finally {
    await stopProgress();
  }
  const ok = findings.every(({ status }) => status !== 'fail');
  const version = packageVersion();
  await (options.json === true
    ? io.stdout.write(jsonText({ ok, version, checks: findings }, 2))
    : print(findings, version, io));
  return ok ? EXIT.ok : EXIT.failed;
}

const SIGNS = { ok: ['✓', 'green'], warn: ['!', 'yellow'], fail: ['✗', 'red'] } as const;

async function print(findings: readonly DoctorFinding[], version: string, { stdout }: Io): Promise<void> {
  const paint = paletteFor(stdout);
  const width = Math.max(...findings.map(({ name }) => name.length));
  const lines = findings.flatMap(({ name, status, detail, fix }) => {
    const [sign, color] = SIGNS[status];
    const line = `${paint[color](sign)} ${name.padEnd(width)}  ${harmlessLine(detail)}`;
    return fix === undefined
      ? [line]
      : [line, `  ${' '.repeat(width)}  ${paint.cyan('→')} ${harmlessLine(fix)}`];
  });
  const count = (status: DoctorFinding['status']) =>
    findings.filter((finding) => finding.status === status).length;
  const last = `telltale ${version}: ${count('ok')} ok, ${count('warn')} to check, ${count('fail')} broken`;
  await stdout.write(`${[...lines, '', last].join('\n')}\n`);
}
