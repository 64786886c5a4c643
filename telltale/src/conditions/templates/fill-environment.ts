import { err, ok, type Result } from '../../kernel/result.ts';
import { type Issue, positionOf } from '../issue.ts';
import { formatTemplate } from './format-template.ts';
import type { EnvPiece, Template, TemplateCode, TemplatePiece } from './template.ts';

/**
 * The template with its environment variables put in as text: what they hold is never read as a reference. Reports
 * every variable that is unset and has no default; an empty variable takes its default too, as in a shell.
 */
export function fillEnvironment(
  template: Template,
  read: (name: string) => string | undefined,
): Result<Template, readonly Issue<TemplateCode>[]> {
  const issues: Issue<TemplateCode>[] = [];
  const pieces = template.pieces.map((piece): TemplatePiece => {
    if (piece.kind !== 'env') return piece;
    const value = read(piece.name);
    const text = value === undefined || (value === '' && piece.default !== undefined) ? piece.default : value;
    if (text === undefined) issues.push(unset(piece, template.source));
    return { kind: 'text', text: text ?? '', offset: piece.offset };
  });
  if (issues.length > 0) return err(issues);
  const joined = joinText(pieces);
  return ok({ source: formatTemplate(joined), pieces: joined });
}

/** Text beside text as one piece, so that a dollar of one and a brace of the next are seen together. */
function joinText(pieces: readonly TemplatePiece[]): readonly TemplatePiece[] {
  const joined: TemplatePiece[] = [];
  for (const piece of pieces) {
    const last = joined.at(-1);
    if (piece.kind === 'text' && last?.kind === 'text')
      joined[joined.length - 1] = { ...last, text: last.text + piece.text };
    else if (piece.kind !== 'text' || piece.text !== '') joined.push(piece);
  }
  return joined;
}

const unset = (piece: EnvPiece, source: string): Issue<TemplateCode> => ({
  code: 'env_unset',
  message: `The environment variable ${piece.name} is not set.`,
  hint: `Set it, or write a default: \${${piece.name}:-…}.`,
  ...positionOf(source, piece.offset),
});
