import type { Sandbox } from '../../targets/process/find-sandbox.ts';
import type { Check, CheckContext, Finding, Machine } from './check.ts';

interface Wanted {
  readonly name: string;
  /** What cannot be used without it. */
  readonly for: string;
  readonly programs: readonly string[];
  readonly version: readonly string[];
  readonly debian: string;
  readonly homebrew?: string;
  /** Where it is of no use. */
  readonly notOn?: readonly string[];
  /** A call that shows that it really works here. */
  readonly trial?: readonly string[];
}

const PROGRAMS: readonly Wanted[] = [
  {
    name: 'git',
    for: 'the tool git',
    programs: ['git'],
    version: ['--version'],
    debian: 'git',
    homebrew: 'git',
  },
  {
    name: 'Browser',
    for: 'tests of the console',
    programs: [
      'chromium',
      'chromium-browser',
      'google-chrome',
      'google-chrome-stable',
      '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
      'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
    ],
    version: ['--version'],
    debian: 'chromium',
    homebrew: '--cask google-chrome',
  },
  {
    name: 'PostgreSQL',
    for: 'a store of a fleet on this machine',
    programs: [
      'postgres',
      'psql',
      ...[18, 17, 16, 15, 14].map((major) => `/usr/lib/postgresql/${major}/bin/postgres`),
    ],
    version: ['--version'],
    debian: 'postgresql',
    homebrew: 'postgresql',
  },
  {
    name: 'Redis',
    for: 'relics of the driver redis on this machine',
    programs: ['redis-server', 'valkey-server'],
    version: ['--version'],
    debian: 'redis-server',
    homebrew: 'redis',
  },
  {
    name: 'bubblewrap',
    for: 'commands in a sandbox',
    programs: ['bwrap'],
    version: ['--version'],
    debian: 'bubblewrap',
    notOn: ['win32', 'darwin'],
    trial: ['--ro-bind', '/', '/', '--unshare-pid', 'true'],
  },
];

export const checkPrograms: Check = ({ machine }: CheckContext) =>
  Promise.all(
    PROGRAMS.filter(({ notOn = [] }) => !notOn.includes(machine.platform)).map((wanted) =>
      checkProgram(wanted, machine),
    ),
  );

async function checkProgram(wanted: Wanted, machine: Machine): Promise<Finding> {
  const { name } = wanted;
  const path = machine.findProgram(wanted.programs);
  const install = installation(wanted, machine);
  if (path === undefined)
    return { name, status: 'warn', detail: `not found; needed for ${wanted.for}`, ...install };
  const version = await machine.ask(path, wanted.version);
  if (version === undefined)
    return { name, status: 'warn', detail: `${path} does not run; needed for ${wanted.for}`, ...install };
  if (wanted.trial !== undefined && (await machine.ask(path, wanted.trial)) === undefined)
    return {
      name,
      status: 'warn',
      detail: `${version}, but it cannot create a sandbox here`,
      fix: 'Allow user namespaces: sysctl -w kernel.unprivileged_userns_clone=1',
    };
  if (wanted.trial !== undefined && machine.sandbox !== undefined)
    return inForce(name, `${version} (${path})`, await machine.sandbox());
  return { name, status: 'ok', detail: `${version} (${path})` };
}

/** What a sandbox here holds commands to, beyond files and network. */
function inForce(name: string, program: string, sandbox: Sandbox): Finding {
  if (!sandbox.found) return { name, status: 'warn', detail: `${program}: ${sandbox.reason}` };
  const { processes, memory } = sandbox.limiter.inForce;
  const detail = [
    program,
    sandbox.seccomp === undefined ? 'no filter of system calls' : 'system calls filtered',
    `processes limited ${HELD[processes]}`,
    `memory limited ${HELD[memory]}`,
  ].join(', ');
  if (processes !== 'none') return { name, status: 'ok', detail };
  return {
    name,
    status: 'warn',
    detail,
    fix: 'Nothing stops a fork bomb here. Run Telltale as a user other than root, or make /sys/fs/cgroup writable.',
  };
}

const HELD = { cgroup: 'by cgroup', rlimit: 'by rlimit', none: 'by nothing' } as const;

function installation(
  { debian, homebrew }: Wanted,
  { platform, findProgram }: Machine,
): { readonly fix?: string } {
  if (platform === 'darwin') return homebrew === undefined ? {} : { fix: `brew install ${homebrew}` };
  if (findProgram(['apt-get']) === undefined) return {};
  return { fix: `apt-get install -y --no-install-recommends ${debian}` };
}
