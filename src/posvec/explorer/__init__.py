"""The explorer: a local page in the browser that shows what models have learnt."""
