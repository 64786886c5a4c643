import { dirname } from 'node:path';
import { RuntimeError } from '../../lib/errors.ts';
import type { JsonObject } from '../../lib/json.ts';
import type { LoadedManifest, Project } from '../../manifest/project/project.ts';
import { isNamedSchema } from '../../manifest/schema/agent-input.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import { isMap } from '../../manifest/schema/plain-values.ts';
import { compileCheck } from '../../tools/check-parameters.ts';
import type { Target } from '../../tools/target.ts';
import { agentCall } from '../../workflows/steps/call-below.ts';
import { agentCode } from '../define/agent-code.ts';
import { hashOf } from '../load-agent.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import { reachOf } from '../reach-of.ts';
import { templateDefaults } from '../to-action.ts';
import { settableVariables } from '../variables/declared-variables.ts';
import { notInSession } from './child-session.ts';

/** Beyond its own `limits.wall`, so that it ends by itself and says so. */
const SPARE_MS = 10_000;

/**
 * A session that is cancelled may wait 5 s for a model that does not listen and 10 s for a tool; then the same again for
 * each one below it.
 */
const GRACE_MS = 60_000;

/** An agent as something that actions can call. It is run by the session that calls it: `createChildRunner`. */
export function agentTarget(manifest: AgentManifest): Target {
  const { name, description, limits } = manifest;
  const what = `agent "${name}"`;
  const vars = variablesOf(manifest);
  const schema = inputSchemaOf(manifest);
  const parameters = withVars(schema ?? TASK, vars);
  const check = compileCheck(schema === undefined ? withVars(ANY_OBJECT, vars) : parameters, what);
  return {
    kind: 'agent',
    name,
    description: description ?? `The agent ${name}.`,
    parameters,
    // After a crash its session goes on where its log ends: nothing it did is done again.
    idempotent: true,
    start: 'on_close',
    ...(limits.wall === undefined ? {} : { timeoutMs: limits.wall.ms + SPARE_MS }),
    graceMs: GRACE_MS,
    check(input) {
      const wrong = check(input);
      if (wrong !== undefined) return wrong;
      return agentCall(input, vars !== undefined).input.trim() === '' ? nothingToDo(what) : undefined;
    },
    run: () => Promise.reject(notInSession(name)),
  };
}

/** What the model is told of an agent without an input schema. Other parameters are added to the task. */
const TASK: JsonObject = {
  type: 'object',
  properties: {
    input: {
      type: 'string',
      minLength: 1,
      description: 'The task, with all it has to know: it does not see your conversation.',
    },
  },
  required: ['input'],
  additionalProperties: false,
};

const ANY_OBJECT: JsonObject = { type: 'object' };

function inputSchemaOf({ input }: AgentManifest): JsonObject | undefined {
  return input !== undefined && isNamedSchema(input) ? input.schema : (input as JsonObject | undefined);
}

const withVars = (schema: JsonObject, vars: JsonObject | undefined): JsonObject =>
  vars === undefined
    ? schema
    : {
        ...schema,
        properties: {
          ...(isMap(schema.properties) ? (schema.properties as JsonObject) : {}),
          vars: { type: 'object', properties: vars, additionalProperties: false },
        },
      };

const nothingToDo = (what: string) =>
  new RuntimeError('bad_parameters', `The parameters of ${what} are wrong: there is nothing in them to do.`, {
    hint: 'Write the task into "input".',
  });

/** Those that a model may set: the others are out of its hand, whichever model it is. */
function variablesOf(manifest: AgentManifest): JsonObject | undefined {
  const settable = settableVariables(manifest).filter(({ writers }) => writers.includes('model'));
  if (settable.length === 0) return undefined;
  return Object.fromEntries(
    settable.map(({ name, type, description }) => [
      name,
      { ...(type === 'any' ? {} : { type }), ...(description === undefined ? {} : { description }) },
    ]),
  );
}

/** Finds the agents that agents may call. Each is loaded once, so that what is prepared for it is found again. */
export interface AgentFamily {
  /** Imported ones, then those beside it in its file. */
  callableBy(agent: LoadedAgent<unknown>): readonly LoadedAgent<unknown>[];
}

export function createAgentFamily(): AgentFamily {
  const members = new WeakMap<Project, Map<string, LoadedAgent<unknown>>>();

  const membersOf = (agent: LoadedAgent<unknown>): Map<string, LoadedAgent<unknown>> => {
    let known = members.get(agent.project);
    if (known === undefined) {
      known = new Map();
      members.set(agent.project, known);
    }
    if (!known.has(agent.manifest.name)) known.set(agent.manifest.name, agent);
    return known;
  };

  return {
    callableBy(agent) {
      const { project } = agent;
      const known = membersOf(agent);
      return callable(agent).flatMap((found) => {
        const member = known.get(found.name) ?? toAgent(found, project);
        if (member === undefined) return [];
        known.set(found.name, member);
        return [member];
      });
    },
  };
}

/** What `agentScope` lets it name; itself only where it says so, or every agent would be offered itself. */
function callable({ manifest, project }: LoadedAgent<unknown>): readonly LoadedManifest[] {
  const agents = project.manifests.filter(({ kind }) => kind === 'Agent');
  const own = agents.find(({ name }) => name === manifest.name);
  if (own === undefined) return [];
  const imported = own.imports.flatMap((entry) =>
    entry.type === 'files' && entry.list === 'agents' ? entry.manifests : [],
  );
  const beside = agents.filter(
    ({ file, id }) => file === own.file && (id !== own.id || namesItself(agentOf(own))),
  );
  const byId = new Map(agents.map((each) => [each.id, each]));
  return [...new Set([...imported.flatMap((id) => byId.get(id) ?? []), ...beside])];
}

const agentOf = ({ manifest }: LoadedManifest) => (manifest.kind === 'Agent' ? manifest : undefined);

function namesItself(manifest: ReturnType<typeof agentOf>): boolean {
  const templates = manifest?.action_templates ?? {};
  return Object.keys(templates).some((each) => {
    const { kind, name } = templateDefaults(templates, each);
    return kind === 'agent' && name === manifest?.name;
  });
}

function toAgent(loaded: LoadedManifest, project: Project): LoadedAgent | undefined {
  const manifest = agentOf(loaded);
  if (manifest === undefined) return undefined;
  const { file } = loaded;
  const folder = agentCode({ manifest, project })?.folder ?? dirname(file);
  return { manifest, project, path: file, folder, hash: hashOf(reachOf(loaded, project)) };
}
