import type { JsonObject } from '../../kernel/json.ts';
import type { Conversion, LoopName } from './conversion.ts';
import { countStep, type LoopInHand } from './loop-body.ts';

/** `forEach`: as many items as rounds are allowed, one after the other. */
export function forEachItem(
  { step: { loop }, name, common, body, around, place, convert }: LoopInHand,
  c: Conversion,
): readonly JsonObject[] {
  const items = c.variables.named(loop.items ?? 'items');
  const written = loop.itemVar ?? 'currentItem';
  const as = written.replace(/^(?:agent|steps|vars|run|trigger|input|metadata)$/, '$&_');
  const texts = JSON.stringify(body.map(({ step }) => step));
  const names = new Map<string, LoopName>([[written, { cel: as, reference: as }]]);
  const counts: JsonObject[] = [];
  for (const [counted, from] of [
    [loop.indexVar ?? 'currentIndex', -1],
    [loop.iterationVar ?? 'currentIteration', 0],
  ] as const) {
    if (!new RegExp(`\\b${counted}\\b`).test(texts)) continue;
    const counter = c.variables.counter(counted, from);
    names.set(counted, { cel: counter, reference: `vars.${counter}` });
    counts.push(countStep(c, name, counter));
  }
  c.report.note(
    place,
    'loop',
    'kept',
    `foreach over ${items} as ${as}, one after the other, the first ${loop.maxIterations} at the most`,
  );
  return [
    {
      name,
      type: 'foreach',
      ...common,
      in: `\${vars.${items}}`,
      max: loop.maxIterations,
      as,
      max_parallel: 1,
      body: [
        ...counts,
        ...body.flatMap(({ step, path }) => convert(step, { path, names, functions: around.functions })),
      ],
    },
  ];
}
