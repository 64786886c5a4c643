import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import { suggest } from '../../lib/nearest.ts';
import { HANDOFF } from '../../log/action.ts';
import { isSpeaker } from '../../log/fold-life.ts';
import type { Carried } from '../../log/handoff-event.ts';
import { CARRIES } from '../../manifest/schema/handoff.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { Definition } from './definition.ts';

interface HandoffOffer {
  readonly to: string;
  readonly when: string | undefined;
  readonly carry: Carried | undefined;
}

/** The agents to which the model of this one may hand over. */
const offersOf = ({ handoff }: AgentManifest): readonly HandoffOffer[] =>
  handoff.flatMap((entry): readonly HandoffOffer[] => {
    if (typeof entry === 'string') return [{ to: entry, when: undefined, carry: undefined }];
    const { to, when, carry } = entry;
    return entry.if === undefined && entry.always === undefined ? [{ to, when, carry }] : [];
  });

/** Whether the agent's model decides on handoffs. */
export const mayHandOver = (manifest: AgentManifest): boolean => offersOf(manifest).length > 0;

export const handoffAction: Definition = {
  name: HANDOFF,
  description:
    'Hands the conversation to another agent, which answers the user from here on. Your turn ends with it: what you tell the user in the same turn is your last word. You see no result.',
  idempotent: true,
  parameters: {
    type: 'object',
    properties: {
      to: { type: 'string', minLength: 1 },
      reason: { type: 'string' },
      carry: { enum: [...CARRIES] },
      summary: { type: 'string' },
    },
    required: ['to'],
    additionalProperties: false,
  },
  shownTo(manifest) {
    const offers = offersOf(manifest);
    const when = offers.flatMap((offer) => (offer.when === undefined ? [] : [`${offer.to}: ${offer.when}`]));
    return {
      type: 'object',
      properties: {
        to: {
          enum: [...new Set(offers.map(({ to }) => to))],
          ...(when.length === 0 ? {} : { description: `When: ${when.join(' ')}` }),
        },
        reason: { type: 'string', description: 'Why, for the next agent.' },
        carry: {
          enum: [...CARRIES],
          description: 'What it sees of the conversation (default messages). With summary, write "summary".',
        },
        summary: { type: 'string' },
      },
      required: ['to'],
      additionalProperties: false,
    } satisfies JsonObject;
  },
  useless: (manifest) =>
    mayHandOver(manifest)
      ? undefined
      : 'The manifest names no agent in "handoff" that the model may hand over to.',
  async run(input, { state, manifest, append }, own): Promise<Json> {
    const { to, reason, carry, summary } = input as {
      to: string;
      reason?: string;
      carry?: Carried;
      summary?: string;
    };
    if (state.handoff?.action === own) return { to };
    const names = offersOf(manifest).map((offer) => offer.to);
    if (to === state.agent) throw toItself(to);
    if (!names.includes(to)) throw notOffered(to, names);
    if (state.led === true) throw isLed();
    if (state.handoff !== undefined) throw handedOver(state.handoff.to);
    const chosen = carry ?? offersOf(manifest).find((offer) => offer.to === to)?.carry;
    append({
      type: 'handoff.requested',
      to,
      action: own,
      ...(reason === undefined ? {} : { reason }),
      ...(chosen === undefined ? {} : { carry: chosen }),
      ...(summary === undefined ? {} : { summary }),
    });
    return { to };
  },
};

/** Whether this session is the log of a conversation that may move to other agents. */
export const leadsThread = (
  { handoff, group }: AgentManifest,
  { led, parent }: { readonly led?: true; readonly parent?: Parameters<typeof isSpeaker>[0] },
): boolean =>
  (handoff.length > 0 || group !== undefined) && led !== true && !(parent !== undefined && isSpeaker(parent));

const toItself = (agent: string) =>
  new RuntimeError('self_handoff', `You are ${agent}: you have the conversation already.`, {
    hint: 'Answer the user, or name another agent.',
  });

const notOffered = (to: string, names: readonly string[]) =>
  new RuntimeError('not_permitted', `You may not hand the conversation to "${to}".`, {
    hint: suggest(to, names, 'You may hand over to'),
  });

const isLed = () =>
  new RuntimeError('not_permitted', 'A workflow gives you this task: you cannot hand it over.', {
    hint: 'Complete the step, or say why you cannot.',
  });

const handedOver = (to: string) =>
  new RuntimeError('handed_over', `You have handed the conversation to ${to} in this turn already.`, {
    hint: 'Hand over once, last in your turn.',
  });
