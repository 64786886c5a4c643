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
      text: 'Prose is a part of its own, without a key: say: [I look it up., { call: … }].',
      output: 'What a tool answers is not scripted: the runtime runs it.',
      mode: 'It stands in the input: input: { _run: { mode: … } }.',
      depends_on: 'It stands in the input: input: { _run: { depends_on: […] } }.',
    },
  },
  {
    call: nonEmptyText('The name of the tool that is called.'),
    id: nonEmptyText("The provider's id of the call: call_TURN_N by default.").optional(),
    input: textOrMap(
      'The input of a call',
      text('The input as the model streams it, JSON or not.'),
      jsonObject('The input: {} by default.'),
      'Write a map; text is streamed as it is.',
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
  hint: 'Nothing comes behind a stream that broke off: delete "cut", or what follows.',
  at: 'key',
} as const;

const repeatedId = (id: string) => ({
  code: 'not_allowed',
  message: `Two calls of this turn have the id ${quoted(id)}.`,
  hint: 'Give each its own, or none: then they are numbered.',
});
