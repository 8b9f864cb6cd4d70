// Which cells must answer what: the one place that says so.
import { needs, questions, restart_questions } from './questions.mjs';
import { servers } from './words.mjs';

const client_eras = {
  v1: ['legacy'],
  'v2-legacy': ['legacy'],
  'v2-auto': ['legacy', 'modern'],
  'v2-pinned': ['modern'],
};

/** The questions for a cell: those that its server can answer. */
export function asked(server, { restarts }) {
  const names = [...Object.keys(questions), ...(restarts ? Object.keys(restart_questions) : [])];
  return names.filter((name) => !needs[name] || needs[name] in servers[server].words);
}

/** How many of them it must answer: directly, all if the two share an era, otherwise none; through mcpivot, all. */
export function expected(server, client, { through, restarts }) {
  const common = servers[server].eras.some((era) => client_eras[client].includes(era));
  return through || common ? asked(server, { restarts }).length : 0;
}
