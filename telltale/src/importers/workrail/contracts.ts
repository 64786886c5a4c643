import type { JsonObject } from '../../lib/json.ts';
import { identifierOf } from '../names.ts';

/** The contract that ends a loop: its artifact becomes a variable with `continue` or `stop`. */
export const LOOP_CONTROL = 'wr.contracts.loop_control';

const string: JsonObject = { type: 'string' };
const text: JsonObject = { type: 'string', minLength: 1 };
const map: JsonObject = { type: 'object' };
const oneOf = (values: string): JsonObject => ({ enum: values.split(' ') });
const listOf = (items: JsonObject): JsonObject => ({ type: 'array', items });
const texts = listOf(text);

/** The same schema for several keys, separated by spaces. */
const each = (schema: JsonObject, keys: string): JsonObject =>
  Object.fromEntries(keys.split(' ').map((key) => [key, schema]));

/** The JSON Schema of an object. A key that ends with `?` is optional. */
function object(keys: JsonObject): JsonObject {
  const names = Object.keys(keys);
  return {
    type: 'object',
    required: names.filter((name) => !name.endsWith('?')),
    properties: Object.fromEntries(
      Object.entries(keys).map(([name, schema]) => [name.replace('?', ''), schema]),
    ),
  };
}

const finding = object({
  severity: oneOf('critical major minor nit'),
  summary: text,
  'findingCategory?': oneOf('correctness security architecture ux performance testing style'),
});

/** The schemas of WorkRail's output contracts, without the keys `kind` and `version` of its artifacts. */
const CONTRACTS: Readonly<Record<string, JsonObject>> = {
  assessment: object({ 'assessmentId?': text, dimensions: map, 'summary?': string }),
  coordinator_signal: object({
    signalKind: oneOf('progress finding data_needed approval_needed blocked'),
    payload: map,
    'sessionId?': string,
  }),
  review_verdict: object({
    verdict: oneOf('clean minor blocking'),
    confidence: oneOf('high medium low'),
    findings: listOf(finding),
    summary: text,
  }),
  discovery_handoff: object({
    selectedDirection: text,
    designDocPath: string,
    confidenceBand: oneOf('high medium low'),
    keyInvariants: texts,
    'rejectedDirections?': listOf(object({ direction: text, reason: text })),
    'implementationConstraints?': texts,
    'keyCodebaseLocations?': listOf(object({ path: text, relevance: text })),
    'selectionTier?': oneOf('strong_recommendation provisional_recommendation insufficient_signal'),
  }),
  shaping_handoff: object({
    ...each(text, 'pitchPath selectedShape appetite'),
    ...each(texts, 'keyConstraints rabbitHoles outOfScope validationChecklist'),
  }),
  coding_handoff: object({
    'branchName?': text,
    ...each(texts, 'keyDecisions knownLimitations testsAdded filesChanged'),
    'correctedAssumptions?': listOf(object({ assumed: text, actual: text })),
  }),
  gate_verdict: object({
    verdict: oneOf('approved rejected uncertain'),
    confidence: oneOf('high medium low'),
    rationale: { type: 'string', minLength: 20 },
  }),
  differentiation_handoff: object({
    evidenceFreshness: map,
    validationChecklist: texts,
    shapingHandoff: map,
  }),
};

interface Contract {
  /** The key of `context_updates`. */
  readonly name: string;
  /** What WorkRail calls the artifact. */
  readonly kind: string;
  readonly schema: JsonObject;
  readonly isKnown: boolean;
}

/** A contract by its reference. An unknown one accepts any object. */
export function contractOf(ref: string): Contract {
  const last = ref.split('.').at(-1) ?? ref;
  const isKnown = Object.hasOwn(CONTRACTS, last) && ref === `wr.contracts.${last}`;
  const schema = (isKnown ? CONTRACTS[last] : undefined) ?? map;
  return { name: identifierOf(last || 'result'), kind: `wr.${last}`, schema, isKnown };
}
