// What a server of one era can't show to a client of the other, by the suite's scenarios. docs/eras.md explains each.
const modern_client_legacy_server = {
  'input-required-result-basic-elicitation': "a legacy server's question has no name, and the suite wants one",
  'input-required-result-multiple-input-requests': 'a legacy server asks one thing at a time',
  'input-required-result-ignore-extra-params': 'the answers to questions that were never asked answer nothing',
  'input-required-result-capability-check': 'a legacy server knows the capabilities of the first request only',
};

/** Why a scenario of this revision may fail with a server of this era behind mcpivot; undefined: it may not. */
export const excuse = (revision, server, scenario) =>
  revision === '2026-07-28' && server === 'legacy' ? modern_client_legacy_server[scenario] : undefined;
