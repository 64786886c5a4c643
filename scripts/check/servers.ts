import { existsSync } from 'node:fs';
import { BROWSERS } from '../../telltale/test/servers/browsers.ts';
import { findProgram } from '../../telltale/test/servers/find-program.ts';
import type { createProgress } from '../launch/progress.js';
import { runCaptured } from '../launch/run-captured.js';

/** Programs that tests want and npm does not bring, by any of their names, each with its package on Debian. */
const WANTED: readonly (readonly [programs: readonly string[], debianPackage: string])[] = [
  [['redis-server'], 'redis-server'],
  [['bwrap'], 'bubblewrap'],
  [BROWSERS, 'chromium'],
];

export type ServerPlan =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'install'; readonly packages: readonly string[]; readonly commands: readonly Command[] }
  /** Somebody else has to. */
  | { readonly kind: 'tell'; readonly missing: readonly string[]; readonly mend: string };

type Command = readonly [program: string, ...args: string[]];

export interface Machine {
  readonly has: (program: string) => boolean;
  readonly isDebian: boolean;
  readonly isRoot: boolean;
}

/** What to do about the programs that are not there. */
export function planServers({ has, isDebian, isRoot }: Machine): ServerPlan {
  const missing = WANTED.filter(([programs]) => !programs.some(has));
  if (missing.length === 0) return { kind: 'nothing' };
  const packages = missing.map(([, debianPackage]) => debianPackage);
  if (isDebian && isRoot)
    return {
      kind: 'install',
      packages,
      commands: [
        ['apt-get', 'update'],
        ['apt-get', 'install', '-y', '--no-install-recommends', ...packages],
      ],
    };
  return {
    kind: 'tell',
    missing: missing.map(([[program = '']]) => program),
    mend: isDebian
      ? `sudo apt-get install ${packages.join(' ')}`
      : `install ${packages.join(' and ')} with your system's package manager`,
  };
}

/** Installs what is missing where that can be done, and says so; else says what mends it. Quick where all is there. */
export async function setUpServers(
  progress: ReturnType<typeof createProgress>,
  machine: Machine = thisMachine(),
  run: typeof runCaptured = runCaptured,
): Promise<void> {
  const plan = planServers(machine);
  switch (plan.kind) {
    case 'nothing':
      return;
    case 'tell':
      progress.end(
        `– servers: ${plan.missing.join(' and ')} not installed: tests that need it are skipped. To mend it: ${plan.mend}`,
      );
      return;
    case 'install': {
      progress.start(`servers: installing ${plan.packages.join(' and ')} (apt-get)`);
      for (const [program, ...args] of plan.commands) {
        const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
        const { code, output } = await run(program, args, { env });
        if (code === 0) continue;
        const said = output.trim().split('\n').slice(-3).join('\n  ');
        progress.end(`– servers: "${[program, ...args].join(' ')}" failed (exit code ${code}):\n  ${said}`);
        return;
      }
      progress.end(`✓ servers: installed ${plan.packages.join(' and ')} (apt-get)`);
    }
  }
}

const thisMachine = (): Machine => ({
  has: (program) => findProgram(program) !== undefined,
  isDebian: existsSync('/etc/debian_version') && findProgram('apt-get') !== undefined,
  isRoot: process.getuid?.() === 0,
});
