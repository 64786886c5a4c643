import type { JsonObject } from '../../kernel/json.ts';

export const LOOP_CONTROL = 'wr.contracts.loop_control';

const text = { type: 'string', minLength: 1 };
const texts = { type: 'array', items: text };
const confidence = { enum: ['high', 'medium', 'low'] };

const object = (properties: JsonObject, optional: readonly string[] = []): JsonObject => ({
  type: 'object',
  required: Object.keys(properties).filter((key) => !optional.includes(key)),
  properties,
});

/** What WorkRail's contracts ask for, without the tags that tell artifacts apart. */
const SCHEMAS: Readonly<Record<string, JsonObject>> = {
  assessment: object({ assessmentId: text, dimensions: { type: 'object' }, summary: { type: 'string' } }, [
    'assessmentId',
    'summary',
  ]),
  coordinator_signal: object(
    {
      signalKind: { enum: ['progress', 'finding', 'data_needed', 'approval_needed', 'blocked'] },
      payload: { type: 'object' },
      sessionId: { type: 'string' },
    },
    ['sessionId'],
  ),
  review_verdict: object({
    verdict: { enum: ['clean', 'minor', 'blocking'] },
    confidence,
    findings: {
      type: 'array',
      items: object(
        {
          severity: { enum: ['critical', 'major', 'minor', 'nit'] },
          summary: text,
          findingCategory: {
            enum: ['correctness', 'security', 'architecture', 'ux', 'performance', 'testing', 'style'],
          },
        },
        ['findingCategory'],
      ),
    },
    summary: text,
  }),
  discovery_handoff: object(
    {
      selectedDirection: text,
      designDocPath: { type: 'string' },
      confidenceBand: confidence,
      keyInvariants: texts,
      rejectedDirections: { type: 'array', items: object({ direction: text, reason: text }) },
      implementationConstraints: texts,
      keyCodebaseLocations: { type: 'array', items: object({ path: text, relevance: text }) },
      selectionTier: { enum: ['strong_recommendation', 'provisional_recommendation', 'insufficient_signal'] },
    },
    ['rejectedDirections', 'implementationConstraints', 'keyCodebaseLocations', 'selectionTier'],
  ),
  shaping_handoff: object({
    pitchPath: text,
    selectedShape: text,
    appetite: text,
    keyConstraints: texts,
    rabbitHoles: texts,
    outOfScope: texts,
    validationChecklist: texts,
  }),
  coding_handoff: object(
    {
      branchName: text,
      keyDecisions: texts,
      knownLimitations: texts,
      testsAdded: texts,
      filesChanged: texts,
      correctedAssumptions: { type: 'array', items: object({ assumed: text, actual: text }) },
    },
    ['branchName', 'correctedAssumptions'],
  ),
  gate_verdict: object({
    verdict: { enum: ['approved', 'rejected', 'uncertain'] },
    confidence,
    rationale: { type: 'string', minLength: 20 },
  }),
  differentiation_handoff: object({
    evidenceFreshness: { type: 'object' },
    validationChecklist: texts,
    shapingHandoff: { type: 'object' },
  }),
};

export interface Contract {
  /** The key of `context_updates`. */
  readonly key: string;
  /** What WorkRail calls the artifact. */
  readonly kind: string;
  readonly schema: JsonObject;
  readonly isKnown: boolean;
}

/** A contract by its reference; one that is not known asks for an object of any form. */
export function contractOf(ref: string): Contract {
  const last = ref.split('.').at(-1) ?? ref;
  const schema = Object.hasOwn(SCHEMAS, last) && ref === `wr.contracts.${last}` ? SCHEMAS[last] : undefined;
  const key = last.replace(/[^A-Za-z0-9_]+/g, '_').replace(/^(?=\d)/, '_');
  return {
    key: key === '' ? 'result' : key,
    kind: `wr.${last}`,
    schema: schema ?? { type: 'object' },
    isKnown: schema !== undefined,
  };
}
