import type { JsonObject } from '../../kernel/json.ts';
import type { Place } from '../report.ts';
import { readCriteria } from './checks.ts';
import type { Conversion } from './conversion.ts';
import { GATE_INSTRUCTIONS, judgedBy, judgeInstructions } from './judge-instructions.ts';
import { bullets, section, sections } from './prompt-text.ts';
import type { TaskStep } from './shape-step.ts';
import { plainText } from './to-template.ts';

export interface FoundVerifier {
  readonly verify?: JsonObject;
  /** What the agent is told of it. */
  readonly told?: string;
}

/**
 * Who judges a step. There is one verifier: assessments are judged by a model, criteria by an artifact that needs none,
 * a command by running it; where a step has several of them, the first of these takes the others in as well as it can.
 */
export function verifierOf(step: TaskStep, name: string, place: Place, c: Conversion): FoundVerifier {
  const { report, workflow } = c;
  const { assessmentRefs = [], assessmentConsequences = [], validationCriteria, verification } = step;
  const written =
    validationCriteria === undefined
      ? undefined
      : readCriteria(validationCriteria, (variable) => c.variables.named(variable));
  for (const problem of written?.refused ?? []) report.note(place, 'validationCriteria', 'left', problem);
  for (const what of written?.ignored ?? []) report.note(place, 'validationCriteria', 'changed', what);
  const rules = written?.messages ?? [];
  const model = (step.verifier ?? {}) as JsonObject;
  const told = section('What the notes of this step must meet', bullets(rules));

  if (assessmentRefs.length > 0) {
    const assessments = (workflow.assessments ?? []).filter(({ id }) => assessmentRefs.includes(id));
    report.note(place, 'assessmentRefs', 'changed', 'verify: a second model gives the levels');
    if (assessmentConsequences.length > 0)
      report.note(place, 'assessmentConsequences', 'changed', 'what the verifier lets the agent do again');
    if (rules.length > 0)
      report.note(
        place,
        'validationCriteria',
        'changed',
        'judged by the same model: a step has one verifier',
      );
    const instructions = plainText(judgeInstructions(assessments, assessmentConsequences, rules));
    if (step.verifier !== undefined) report.note(place, 'verifier', 'kept', 'verify, with the assessments');
    return { verify: { instructions, ...model }, told: sections([told, judgedBy(assessments)]) };
  }
  if (step.verifier !== undefined) {
    report.note(place, 'verifier', 'kept', 'verify');
    if (rules.length > 0)
      report.note(
        place,
        'validationCriteria',
        'changed',
        'judged by the same model: a step has one verifier',
      );
    const asked = rules.length === 0 ? {} : { instructions: plainText(sections([AS_ASKED, told])) };
    return { verify: { ...asked, ...model }, ...(told === undefined ? {} : { told }) };
  }
  if (written !== undefined && written.criteria.length > 0) {
    const method = c.checks.add(name, written.criteria);
    report.note(
      place,
      'validationCriteria',
      'changed',
      `verify: ${c.checksName}.${method} judges the notes, without a model`,
    );
    return {
      verify: { invoke: c.checksName, method, fallback: 'escalate' },
      ...(told === undefined ? {} : { told }),
    };
  }
  if (validationCriteria !== undefined && !report.has(place, 'validationCriteria'))
    report.note(place, 'validationCriteria', 'kept', 'it asks for nothing');
  if (verification?.command !== undefined) {
    report.note(
      place,
      'verification',
      'changed',
      'verify: the command is run by the runtime, and exit 0 passes',
    );
    return { verify: { command: ['sh', '-c', plainText(verification.command)] } };
  }
  return gateOf(step, place, c);
}

const AS_ASKED = 'Was all that the step asks for really done, as the actions and their results show?';

/** A gate that is left to a model. */
function gateOf(
  { requireConfirmation: gate }: TaskStep,
  place: Place,
  { report }: Conversion,
): FoundVerifier {
  if (typeof gate !== 'object' || !('kind' in gate)) return {};
  if (gate.kind !== 'coordinator_eval' || gate.condition !== undefined) return {};
  report.note(
    place,
    'requireConfirmation',
    'changed',
    'verify: a second model judges the step, as the gate would',
  );
  return { verify: { instructions: GATE_INSTRUCTIONS } };
}

/** Whether the gate of a step has become its verifier. */
export const isModelsGate = (step: TaskStep): boolean => {
  const { requireConfirmation: gate, assessmentRefs, validationCriteria, verification, verifier } = step;
  const hasOther =
    verifier !== undefined ||
    assessmentRefs !== undefined ||
    validationCriteria !== undefined ||
    verification?.command !== undefined;
  return (
    typeof gate === 'object' &&
    'kind' in gate &&
    gate.kind === 'coordinator_eval' &&
    gate.condition === undefined &&
    !hasOther
  );
};
