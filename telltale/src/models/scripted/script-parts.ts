import { z } from 'zod';
import { quoted } from '../../manifest/printable.ts';
import { closed } from '../../manifest/schema/closed.ts';
import { finding } from '../../manifest/schema/finding.ts';
import { jsonObject } from '../../manifest/schema/json-value.ts';
import { nonEmptyText, text } from '../../manifest/schema/names.ts';
import { flag } from '../../manifest/schema/numbers.ts';
import { textOrMap } from './text-or-map.ts';

const call = closed(
  {
    title: 'a call',
    atMostOne: [['cut', 'meta']],
    slips: {
      name: 'Did you mean "call"? Its value is the name of the tool.',
      tool: 'Did you mean "call"? Its value is the name of the tool.',
      parameters: 'Did you mean "input"?',
      arguments: 'Did you mean "input"?',
      text: 'Write prose as a separate part without a key: say: [I look it up., { call: … }].',
      output: 'Remove it. The runtime runs the tool, so its answer is not scripted.',
      mode: 'Put it into the input: input: { _run: { mode: … } }.',
      depends_on: 'Put it into the input: input: { _run: { depends_on: […] } }.',
    },
  },
  {
    call: nonEmptyText('The name of the tool that is called.'),
    id: nonEmptyText("The provider's id of the call: call_TURN_N by default.").optional(),
    input: textOrMap(
      'The input of a call',
      text('The input as the model streams it, JSON or not.'),
      jsonObject('The input: {} by default.'),
      'Write a map, or text, which is streamed as it is.',
    ).optional(),
    meta: jsonObject('What the provider wants to see again with the call.').optional(),
    cut: flag('Whether the stream breaks off in the input.').optional(),
  },
);

const part = textOrMap('A part of what is said', text('Prose.'), call);

/** What a model says, in parts. */
export const scriptParts = () =>
  z
    .array(part)
    .min(1)
    .check((ctx) => {
      const seen = new Set<string>();
      for (const [index, each] of ctx.value.entries()) {
        if (typeof each === 'string') continue;
        if (each.cut === true && index < ctx.value.length - 1)
          ctx.issues.push(finding(each, CUT_TOO_EARLY, [index, 'cut']));
        if (each.id === undefined) continue;
        if (seen.has(each.id)) ctx.issues.push(finding(each, repeatedId(each.id), [index, 'id']));
        seen.add(each.id);
      }
    })
    .meta({
      description: 'What the model says in parts: prose, and calls of tools.',
      expects: 'a list of one part or more',
    });

const CUT_TOO_EARLY = {
  code: 'not_allowed',
  message: 'Only the last part of a turn can be cut.',
  hint: 'Nothing can follow a stream that was cut. Delete "cut", or what follows.',
  at: 'key',
} as const;

const repeatedId = (id: string) => ({
  code: 'not_allowed',
  message: `Two calls of this turn have the id ${quoted(id)}.`,
  hint: 'Give each call its own id, or none. Then they are numbered.',
});
