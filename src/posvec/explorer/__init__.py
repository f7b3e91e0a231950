"""The explorer: a local web page that shows what models have learnt."""
