import type { JsonObject } from '../../lib/json.ts';
import { identifierOf } from '../names.ts';

/** Texts that WorkRail has by id, in our words. A prompt that refers to one gets the text itself. */
export const REFS: Readonly<Record<string, string>> = {
  'wr.refs.memory_usage':
    'If you have a memory that outlives this task, look into it first, and store there what will be useful later. If it fails, go on without it.',
  'wr.refs.memory_store':
    'If you have a memory that outlives this task, store there what this step found: the files, the decisions and the reasons. If it fails, go on without it.',
  'wr.refs.memory_query':
    'If you have a memory that outlives this task, ask it what is already known. If it fails, go on without it.',
  'wr.refs.notes_first_durability':
    'Only the notes that complete a step and the variables that it sets are kept. Write every finding and every decision there, with its reason. Files for people to read are an extra, never the only place.',
  'wr.refs.synthesis_under_disagreement':
    'If results of parallel work contradict each other, settle it openly. A finding of two of them counts. Of two severities the higher one counts, unless there is evidence against it. A finding of only one is checked first. Note for each contradiction how you settled it, and why.',
  'wr.refs.parallelize_cognition_serialize_synthesis':
    'Let independent thinking happen in parallel, each part with its own focus. Bring the results together yourself, one after the other. Nobody you delegate to decides on the final answer.',
  'wr.refs.adversarial_challenge_rules':
    'Try to break the leading answer. Make the strongest case for another one, ask what would disprove each finding, and look for it. What breaks is a finding and changes the answer. Rate severity by risk, neither softer nor harsher.',
};

/** What each feature adds to the steps with prompt blocks. */
export const FEATURES: Readonly<Record<string, readonly string[]>> = {
  'wr.features.memory_context': [REFS['wr.refs.memory_usage'] ?? ''],
  'wr.features.capabilities': [
    'Rely on an optional ability (delegation, the web, …) only after you have tried it here. If one is missing, say so and find another way.',
    'Where you depend on such an ability, note how you tried it. Where you do without it, note why that is enough.',
    'Before you finish, check that every optional ability you used was tried, and that every workaround is in the notes.',
  ],
  'wr.features.subagent_guidance': [
    'You own the strategy, the decisions and the final result. Whoever you delegate to only gives you another view.',
    REFS['wr.refs.parallelize_cognition_serialize_synthesis'] ?? '',
    'Give each of them a focus of its own and the same facts.',
    'Before you finish, check that you judged each of their results yourself.',
  ],
};

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
