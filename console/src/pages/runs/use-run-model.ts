import { useFollowedModel } from '../log/use-followed-model.ts';
import { createRunModel } from './model/run-model.ts';

export const useRunModel = (id: string) => useFollowedModel(createRunModel, id);
