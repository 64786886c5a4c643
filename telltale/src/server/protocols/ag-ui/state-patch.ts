import type { Json } from '../../../kernel/json.ts';
import type { PatchOperation } from './ag-ui-event.ts';

/** A change of metadata as JSON Patch. `add` replaces a member that is there; a field that is not set is null on the log. */
export const statePatch = (
  changes: Readonly<Record<string, { readonly from: Json; readonly to: Json }>>,
): readonly PatchOperation[] =>
  Object.entries(changes).flatMap(([field, { from, to }]): readonly PatchOperation[] => {
    const path = `/${field.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (to !== null) return [{ op: 'add', path, value: to }];
    return from === null ? [] : [{ op: 'remove', path }];
  });
