import type { JsonObject } from '../../kernel/json.ts';
import type { Place } from '../report.ts';
import { type Around, type Conversion, templateOf } from './conversion.ts';
import { outputOf } from './output.ts';
import { bullets, sections } from './prompt-text.ts';
import type { ParallelStep, TaskStep } from './shape-step.ts';
import { plainText } from './to-template.ts';

/** Steps that WorkRail puts behind a step by itself: its verification, its audit, the synthesis of parallel work. */
export function followUps(
  step: TaskStep | ParallelStep,
  place: Place,
  around: Around,
  c: Conversion,
  test: string | undefined,
): readonly JsonObject[] {
  const task = (suffix: string, title: string, prompt: string, more: JsonObject = {}): JsonObject => ({
    name: c.stepNames.take(`${step.id}-${suffix}`.replace(/^(?=\d)/, 'step-')),
    type: 'task',
    description: plainText(title),
    ...(test === undefined ? {} : { if: test }),
    prompt: templateOf(sections([`# ${title}`, prompt]), suffix, place, around.names, c),
    ...more,
  });
  if (step.type === 'parallel') return synthesis(step, place, around, c, task);
  const { verification, audit, title } = step;
  const steps: JsonObject[] = [];
  if (verification !== undefined && !c.report.has(place, 'verification')) {
    c.report.note(place, 'verification', 'kept', 'a task behind the step, as in WorkRail');
    steps.push(task('verification', `Verify: ${title}`, verificationText(verification)));
  } else if (verification?.prompt !== undefined)
    c.report.note(place, 'verification.prompt', 'left', 'the command is run without an agent');
  if (audit !== undefined) {
    c.report.note(place, 'audit', 'kept', 'a task behind the step, as in WorkRail');
    steps.push(
      task(
        'audit',
        `Audit: ${title}`,
        sections([
          audit.prompt ??
            `Look through what "${title}" has brought: whether it is whole, right and good enough.`,
          audit.rubric === undefined ? undefined : `Judge it by this:\n${bullets(audit.rubric).join('\n')}`,
          'Say whether it stands, and mend what does not.',
        ]),
      ),
    );
  }
  return steps;
}

const verificationText = ({ command, prompt }: NonNullable<TaskStep['verification']>): string =>
  sections([
    prompt,
    command === undefined ? undefined : `Run this, and see that it succeeds:\n\`\`\`\n${command}\n\`\`\``,
    prompt === undefined && command === undefined
      ? 'Run what checks this work (tests, the build, a linter), and see that all of it succeeds.'
      : undefined,
  ]);

function synthesis(
  { synthesis: config, title }: ParallelStep,
  place: Place,
  around: Around,
  c: Conversion,
  task: (suffix: string, title: string, prompt: string, more?: JsonObject) => JsonObject,
): readonly JsonObject[] {
  if (config === undefined) return [];
  c.report.note(place, 'synthesis', 'kept', 'a task behind the step, as in WorkRail');
  const output = outputOf(config.outputContract, place, around, c, 'synthesis.outputContract');
  const prompt =
    config.prompt ??
    'Bring the results of the parallel work together into one: settle what contradicts itself, and say how.';
  return [
    task('synthesis', `Synthesis: ${title}`, sections([prompt, output.told]), {
      ...(output.requires === undefined ? {} : { requires: output.requires }),
    }),
  ];
}
