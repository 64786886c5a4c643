import { JOURNAL } from './journal.ts';

/** A tool whose only effect is what it writes in the journal. */
export interface LabTool {
  readonly name: string;
  /** Whether it may be done again where a fault left it in doubt. */
  readonly idempotent: boolean;
  readonly kind: 'module' | 'command';
  readonly ms: number;
  /** What it gives, where that is not its name and the text it was called with. */
  readonly gives?: readonly string[];
  /** The first try of each call fails, after its effect. */
  readonly shaky?: true;
  /** Each call waits for a person. */
  readonly asks?: true;
}

export const ITEMS: readonly string[] = ['ant', 'bee'];

export const LAB_TOOLS: readonly LabTool[] = [
  { name: 'list', idempotent: true, kind: 'module', ms: 5, gives: ITEMS },
  { name: 'keep', idempotent: true, kind: 'module', ms: 25 },
  { name: 'keep_slow', idempotent: true, kind: 'module', ms: 120 },
  { name: 'once', idempotent: false, kind: 'module', ms: 25 },
  { name: 'once_slow', idempotent: false, kind: 'module', ms: 120 },
  { name: 'keep_shaky', idempotent: true, kind: 'module', ms: 10, shaky: true },
  { name: 'keep_program', idempotent: true, kind: 'command', ms: 20 },
  { name: 'once_program', idempotent: false, kind: 'command', ms: 20 },
  { name: 'guarded', idempotent: true, kind: 'module', ms: 10, asks: true },
];

/** The files of a tool, by path. */
export function toolFiles(tool: LabTool): Readonly<Record<string, string>> {
  const { name, idempotent, kind } = tool;
  const manifest = {
    kind: 'Tool',
    name,
    idempotent,
    ...(tool.asks === true ? { approval: 'always' } : {}),
    parameters: { type: 'object', properties: { text: { type: 'string' } } },
    implementation: kind === 'module' ? { module: `./${name}.mjs` } : { command: ['sh', `tools/${name}.sh`] },
  };
  return {
    [`tools/${name}.yml`]: JSON.stringify(manifest),
    ...(kind === 'module'
      ? { [`tools/${name}.mjs`]: moduleOf(tool) }
      : { [`tools/${name}.sh`]: shell(tool) }),
  };
}

const moduleOf = ({ name, ms, gives, shaky }: LabTool) => `
import { note, pause, timesBegun } from './journal.mjs';
export async function run({ text = '' }, { idempotencyKey }) {
  note('before', ${JSON.stringify(name)}, idempotencyKey);
  await pause(${ms});
  note('after', ${JSON.stringify(name)}, idempotencyKey);
  ${shaky === true ? "if (timesBegun(idempotencyKey) < 2) throw new Error('no luck');" : ''}
  return ${gives === undefined ? `\`${name}:\${text}\`` : JSON.stringify(gives)};
}
`;

/** A program of its own: it goes on where the process that started it is killed. */
const shell = ({ name, ms }: LabTool) => {
  const note = (what: string) =>
    `read up rest < /proc/uptime; printf '{"what":"${what}","tool":"${name}","key":"%s","pid":%d,"at":%d}\\n' "$TELLTALE_IDEMPOTENCY_KEY" $$ "\${up%.*}\${up#*.}0" >> ${JOURNAL}; sync -d ${JOURNAL}`;
  return `${note('before')}\nsleep ${ms / 1000}\n${note('after')}\necho ${name}:\n`;
};
