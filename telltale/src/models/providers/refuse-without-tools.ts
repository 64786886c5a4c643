import { printable } from '../../manifest/printable.ts';
import { modelFailed } from '../model-errors.ts';
import type { PartWarning } from './language-model.ts';

/** Throws where a provider's package says, as it begins to stream, that it has left the tools out. */
export function refuseWithoutTools(warnings: readonly PartWarning[], id: string): void {
  const warning = warnings.find(isAboutTools);
  if (warning === undefined) return;
  const details = printable(warning.details ?? '').trim();
  throw modelFailed(
    'model_no_tools',
    `${id}: the provider leaves out native tools${details === '' ? '.' : `: ${details}`}`,
  );
}

/** That a call cannot be demanded is no reason to stop: the model may still make it. */
const isAboutTools = ({ type, feature, setting }: PartWarning): boolean =>
  type === 'unsupported-tool' ||
  (type === 'unsupported' && (feature === 'tools' || feature?.startsWith('tool ') === true)) ||
  (type === 'unsupported-setting' && setting === 'tools');
