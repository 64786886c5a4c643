import type { Json } from '../../../kernel/json.ts';
import { isMap } from '../../../manifest/schema/is-map.ts';
import type { LeafCall } from '../../leaf.ts';
import type { LeafContext } from '../../steps/leaf-edges.ts';
import { type ArtifactVerifier, type JudgedWork, judgedJson, said, type Verdict } from './verdict.ts';

/** An artifact judges: `judged` joins the context, which is its last argument. Its own fallback counts where it cannot. */
export async function verifyByArtifact(
  verify: ArtifactVerifier,
  judged: JudgedWork,
  nth: number,
  { address, attempt, locals, signal }: LeafCall,
  { decisions }: LeafContext,
): Promise<Verdict> {
  const { invoke, method, args, cache, fallback } = verify;
  const record = await decisions.verdict(
    `${address}:verify ${attempt}.${nth}`,
    { invoke, method, args: args as readonly Json[], cache, fallback },
    judgedJson(judged),
    locals,
    signal,
  );
  const verdict = verdictOf(`artifact ${invoke}.${method}`, record.result);
  return record.fallback === undefined ? verdict : { ...verdict, fallback: said(record.fallback.message) };
}

/** What was asked for as `verdict` is one; anything else would be a mistake of ours, and is for a person to settle. */
function verdictOf(by: string, answer: Json): Verdict {
  const assessment = isMap(answer) ? answer.assessment : answer;
  const reasoning = isMap(answer) && typeof answer.reasoning === 'string' ? said(answer.reasoning) : '';
  const told = isMap(answer)
    ? (answer.instruction ?? answer.retry_instruction ?? answer.retryInstruction)
    : '';
  const instruction = typeof told === 'string' ? said(told) : '';
  if (assessment === true || assessment === 'pass')
    return { by, assessment: 'pass', reasoning: reasoning || 'It says that the step is done.' };
  if (assessment === false || assessment === 'retry')
    return {
      by,
      assessment: 'retry',
      reasoning: reasoning || 'It says that the step is not done.',
      instruction:
        instruction || reasoning || `The check ${by.replace('artifact ', '')} does not accept it yet.`,
    };
  return { by, assessment: 'escalate', reasoning: reasoning || 'It asks for a person.' };
}
