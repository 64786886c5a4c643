import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSystemClock } from '../../src/lib/clock.ts';
import { RuntimeError } from '../../src/lib/errors.ts';
import type { Json, JsonObject } from '../../src/lib/json.ts';
import { loadManifests } from '../../src/manifest/load-manifests.ts';
import type { AgentManifest } from '../../src/manifest/schema/kinds.ts';
import {
  createTargets,
  type AgentTargets as Table,
  type TargetsOptions,
} from '../../src/tools/create-targets.ts';
import { createSandboxFinder } from '../../src/tools/process/find-sandbox.ts';
import type { ApprovalNeed, Target, TargetCall } from '../../src/tools/target.ts';
import { temporaryProject } from '../manifest/temporary-project.ts';
import { memoryTables } from './memory-tables.ts';

export interface AgentTargets {
  readonly folder: string;
  readonly table: Table;
  tool(name: string): Target;
  /** Checks the parameters and asks for approval as a session does, then runs it. */
  call(name: string, input?: JsonObject, more?: Partial<TargetCall>): Promise<Json>;
  /** As `call`, for a call that has to fail. */
  failure(name: string, input?: JsonObject, more?: Partial<TargetCall>): Promise<RuntimeError>;
}

export interface Given {
  /** The agent's manifest below `kind` and `name`, as YAML. */
  readonly agent: string;
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  readonly options?: Partial<TargetsOptions>;
  /** Who is asked where a call needs a person's approval; nobody by default. */
  readonly approve?: ((need: ApprovalNeed) => boolean | Promise<boolean>) | undefined;
  /** One that is there and stays; a temporary one, gone with the test, if absent. */
  readonly folder?: string;
  /** Goes on although the manifests have mistakes. */
  readonly allowErrors?: boolean;
}

/** Looked for once for all tests of a file. */
const findSandbox = createSandboxFinder({ PATH: process.env.PATH });

/** The targets of an agent in a temporary folder, with real files and processes. */
export async function agentTargets({
  agent,
  files = {},
  options = {},
  approve,
  folder: given,
  allowErrors,
}: Given): Promise<AgentTargets> {
  const all = {
    'telltale.yml': '',
    'agent.yml': `kind: Agent\nname: tester\nmodel: scripted:./model.yml\n${agent}\n`,
    'model.yml': 'turns: []\n',
    ...files,
  };
  const folder = given ?? temporaryProject(all);
  if (given !== undefined)
    for (const [name, content] of Object.entries(all)) writeFileSync(join(given, name), content);
  const loaded = await loadManifests([join(folder, 'agent.yml')], { env: {}, root: folder, cwd: folder });
  const errors = loaded.diagnostics.filter(({ severity }) => severity === 'error');
  if (errors.length > 0 && allowErrors !== true) throw new Error(JSON.stringify(errors, null, 2));
  const [project] = loaded.projects;
  const manifest = project?.manifests.find(({ name }) => name === 'tester')?.manifest as AgentManifest;
  if (project === undefined) throw new Error('no project');
  const table = await createTargets({
    agent: manifest,
    project,
    folder,
    clock: createSystemClock(),
    env: { PATH: process.env.PATH, HOME: folder, SECRET: 'hidden' },
    store: { location: 'memory', tables: memoryTables() },
    openModel: () => Promise.reject(new Error('no model')),
    findSandbox,
    ...options,
  });
  const find = (name: string): Target => {
    const found = table.all.find((target) => target.name === name);
    if (found === undefined) throw new Error(`no target ${name}`);
    return found;
  };
  const call: AgentTargets['call'] = async (name, input = {}, more = {}) => {
    const target = find(name);
    const wrong = target.check(input);
    if (wrong !== undefined) throw wrong;
    const made = callOf(input, more);
    const need = approve === undefined ? undefined : await target.needs?.(input, made);
    if (need === undefined) return target.run(made);
    if (!(await approve?.(need))) throw new RuntimeError('not_permitted', 'A person refused.');
    return target.run({ ...made, granted: need.grants });
  };
  return {
    folder,
    table,
    tool: find,
    call,
    failure: (name, input, more) =>
      call(name, input, more).then(
        (result) => {
          throw new Error(`should have failed, but gave ${JSON.stringify(result)?.slice(0, 500)}`);
        },
        (thrown: unknown) => {
          if (thrown instanceof RuntimeError) return thrown;
          throw thrown;
        },
      ),
  };
}

export const callOf = (input: JsonObject, more: Partial<TargetCall>): TargetCall => ({
  session: 's1',
  id: 'a1',
  input,
  attempt: 1,
  signal: new AbortController().signal,
  idempotencyKey: 's1/a1',
  agent: () => Object.freeze({ session_id: 's1', agent_name: 'tester' }),
  progress: () => undefined,
  ...more,
});

/** A Tool manifest that is a module with this code. */
export const moduleTool = (name: string, code: string, more = '') => ({
  [`${name}.yml`]: `kind: Tool\nname: ${name}\nimplementation: { module: ./${name}.mjs }\n${more}\n`,
  [`${name}.mjs`]: code,
});

/** Polls until it holds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 2_000; tries++) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error('it never came to hold');
}
