import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Engine } from '../../engine/engine.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Json, JsonObject } from '../../kernel/json.ts';
import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { type OutsideTrigger, outsideTriggers } from '../../triggers/outside-triggers.ts';
import type { LoadedAgent } from '../loaded-agent.ts';
import type { Listening, ListenOptions, OutsideOutcome, WorkflowRun } from './run-types.ts';
import { createTurnstile } from './turnstile.ts';
import { workflowsOf } from './workflow-catalog.ts';

export interface OutsideEdges {
  readonly engine: Pick<Engine, 'schedule'>;
  readonly clock: Clock;
  readonly start: (workflow: WorkflowManifest, trigger: string, seen: JsonObject) => WorkflowRun;
}

/** Of what is posted to a hook: it goes on the log of the run whole. */
const MAX_BODY_BYTES = 1024 * 1024;

export function listen(
  { engine, clock, start }: OutsideEdges,
  agent: LoadedAgent<unknown>,
  { onDue }: ListenOptions = {},
): Listening {
  const workflows = workflowsOf(agent);
  const triggers = outsideTriggers([...workflows.values()]);
  const hooks = new Map<string, Webhook>();
  for (const trigger of triggers) {
    if (trigger.type !== 'webhook') continue;
    const other = hooks.get(trigger.hook);
    if (other !== undefined) throw hookTwice(trigger.hook, [other.workflow, trigger.workflow]);
    hooks.set(trigger.hook, trigger);
  }
  const stiles = new Map(triggers.map((trigger) => [trigger.id, createTurnstile(clock, trigger.pacing)]));
  const set = (trigger: OutsideTrigger, seen: JsonObject): OutsideOutcome => {
    const workflow = workflows.get(trigger.workflow) as WorkflowManifest; // it is where the trigger stands
    const named = { type: trigger.type, trigger: trigger.id, workflow: trigger.workflow, ...seen };
    return stiles.get(trigger.id)?.enter(() => start(workflow, trigger.id, named)) ?? { kind: 'waiting' };
  };
  const endings = triggers.flatMap((trigger) => {
    if (trigger.type !== 'schedule') return [];
    const { schedule } = trigger;
    const timed = 'everyMs' in schedule ? { ...schedule, from: clock.now() } : schedule;
    const name = `${agent.manifest.name}:${trigger.id}`;
    return [engine.schedule(name, timed, (due) => onDue?.(trigger.id, set(trigger, { due })))];
  });
  return {
    deliver: async (hook, body, signature) => {
      const found = hooks.get(hook);
      if (found === undefined) throw hookUnknown(hook, [...hooks.keys()]);
      if (Buffer.byteLength(body) > MAX_BODY_BYTES) throw bodyTooLarge(hook, Buffer.byteLength(body));
      if (!isSigned(body, signature, found.secret)) throw badSignature(hook);
      return set(found, { hook, body: bodyOf(body) });
    },
    close() {
      for (const end of endings) end();
      for (const stile of stiles.values()) stile.close();
    },
  };
}

type Webhook = Extract<OutsideTrigger, { readonly type: 'webhook' }>;

function isSigned(body: string | Uint8Array, signature: string, secret: string): boolean {
  const expected = createHmac('sha256', secret).update(body).digest();
  const given = Buffer.from(signature.replace(/^sha256=/, ''), 'hex');
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** JSON where it is some, else the text. */
function bodyOf(body: string | Uint8Array): Json {
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

const hookUnknown = (hook: string, known: readonly string[]) =>
  new RuntimeError('hook_unknown', `No workflow listens to the hook "${hook}".`, {
    hint: suggest(hook, known, 'Hooks'),
  });

const badSignature = (hook: string) =>
  new RuntimeError('bad_signature', `What came to the hook "${hook}" is not signed with its secret.`, {
    hint: 'Send the HMAC-SHA256 of the body with the trigger\'s "secret", in hexadecimal.',
  });

const hookTwice = (hook: string, workflows: readonly string[]) =>
  new RuntimeError(
    'bad_manifest',
    `Two triggers listen to the hook "${hook}": of ${workflows.join(' and ')}.`,
    {
      hint: 'Give one of them another "hook", or let one workflow start the other.',
    },
  );

const bodyTooLarge = (hook: string, bytes: number) =>
  new RuntimeError(
    'bad_parameters',
    `What came to the hook "${hook}" has ${bytes} bytes; ${MAX_BODY_BYTES} are allowed.`,
    { hint: 'Send where it can be found instead of the whole of it.' },
  );
